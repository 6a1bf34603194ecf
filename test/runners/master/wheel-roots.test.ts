import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runWheel } from "../../../src/runners/wheel.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { plain } from "../../plain.ts";
import { runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-roots-"));
after(() => rmSync(folder, { recursive: true }));
const [first, second] = [join(folder, "first"), join(folder, "second")];
for (const root of [first, second]) mkdirSync(join(root, "web"), { recursive: true });
writeFileSync(join(first, "web", "init.sls"), "a: 1\n");
writeFileSync(join(second, "web", "init.sls"), Uint8Array.of(0, 255));
writeFileSync(join(folder, "outside"), "secret");
symlinkSync(folder, join(first, "up"));
const roots = { base: [first, second] };
const context = runnerContext({ config: { file_roots: roots, pillar_roots: roots }, master: masterAccess({}) });

describe("wheel file_roots and pillar_roots", () => {
  for (const option of ["file_roots", "pillar_roots"]) {
    const call = async (name: string, args: Value[] = []) =>
      plain(decode(encode(await runWheel(context, `${option}.${name}`, args, new Map()), "bin")));

    it(`finds and reads what ${option} hold`, async () => {
      const paths = [first, second].map((root) => join(root, "web", "init.sls"));
      assert.deepEqual(await call("find", ["web/init.sls"]), [
        { [paths[0] ?? ""]: "txt" },
        { [paths[1] ?? ""]: "bin" },
      ]);
      assert.deepEqual(await call("read", ["web/init.sls"]), [{ [paths[0] ?? ""]: "a: 1\n" }]);
      assert.deepEqual(await call("find", ["web/init.sls", "dev"]), []);
      const listed = { [first]: { up: "f", web: { "init.sls": "f" } }, [second]: { web: { "init.sls": "f" } } };
      assert.deepEqual(await call("list_env"), listed);
      assert.deepEqual(await call("list_roots"), { base: [listed] });
      assert.deepEqual(await call("list_env", ["dev"]), {});
    });

    it(`writes below ${option}, and nowhere else`, async () => {
      const file = join(second, "new", "a.sls");
      assert.equal(await call("write", ["b: 2\n", "new/a.sls", "base", 1]), `Wrote data to file ${file}`);
      assert.equal(readFileSync(file, "utf8"), "b: 2\n");
      rmSync(join(second, "new"), { recursive: true });
      for (const path of ["../outside", "up/outside", "..", "", "web/../../outside", "up/new/file"]) {
        assert.match(String(await call("write", ["x", path])), /^Invalid path/, path);
        assert.deepEqual(await call("read", [path]), [], path);
      }
      assert.match(String(await call("write", ["x", "/etc/x"])), /not relative/);
      assert.match(String(await call("write", ["x", "a", "dev"])), /Named environment dev is not present/);
      assert.match(String(await call("write", ["x", "a", "base", 2])), /index 2 in environment base/);
      assert.equal(readFileSync(join(folder, "outside"), "utf8"), "secret");
    });

    it(`writes along a link within ${option}, and not along a link to a missing file outside`, async () => {
      const links = { "web/inside": join(first, "web", "init.sls"), dangling: join(folder, "new"), loop: "loop" };
      for (const [link, target] of Object.entries(links)) symlinkSync(target, join(first, link));
      try {
        assert.match(String(await call("write", ["a: 3\n", "web/inside"])), /^Wrote data to file .*\/web\/inside$/);
        assert.equal(readFileSync(join(first, "web", "init.sls"), "utf8"), "a: 3\n");
        for (const path of ["dangling", "dangling/file", "web/../dangling", "loop"]) {
          assert.match(String(await call("write", ["x", path])), /^Invalid path/, path);
          assert.deepEqual(await call("read", [path]), [], path);
        }
        assert.equal(existsSync(join(folder, "new")), false);
      } finally {
        for (const link of Object.keys(links)) rmSync(join(first, link));
        writeFileSync(join(first, "web", "init.sls"), "a: 1\n");
      }
    });
  }
});
