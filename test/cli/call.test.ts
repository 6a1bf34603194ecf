import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { TestHost } from "./test-host.ts";

describe("saltworks call without a master", () => {
  let folder: string;

  async function call(...argv: string[]): Promise<{ out: string; err: string; code: number }> {
    const host = new TestHost();
    const code = await dispatch(["call", "-c", folder, "--local", "--skip-grains", "--out=json", ...argv], host);
    return { out: host.out, err: host.err, code };
  }
  const local = async (...argv: string[]): Promise<unknown> => {
    const { out, err } = await call(...argv);
    assert.equal(err, "");
    return (JSON.parse(out) as { local: unknown }).local;
  };
  const write = (path: string, text: string): string => {
    const file = join(folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    return file;
  };

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "saltworks-call-"));
    write("minion", `root_dir: ${folder}/root\nid: here\n`);
    write("pillar/top.sls", "base:\n  here: [site]\n");
    write("pillar/site.sls", "tier: {{ grains['id'] }}-front\n");
    write("files/deep/app.conf", "port = 1\n");
    write("files/top.txt", "");
    write(
      "modules/shop.mjs",
      "export async function price(item, { factor = 1 } = {}) { return { item, price: 2 * factor }; }\nprice.doc = 'What it costs.';\n",
    );
    write("modules/old.py", "def f():\n    pass\n");
  });
  after(() => rmSync(folder, { recursive: true }));

  it("renders the pillar from the directory that it is given", async () => {
    assert.deepEqual(await local(`--pillar-root=${folder}/pillar`, "pillar.items"), { tier: "here-front" });
    assert.equal(await local(`--pillar-root=${folder}/pillar`, "pillar.get", "tier"), "here-front");
    assert.deepEqual(await local("pillar.items"), {});
  });

  it("puts an error into the pillar for what its own configuration asks for and is not built", async () => {
    const extra = write(
      "minion.d/pillar.conf",
      [
        "decrypt_pillar: [secret: nacl]",
        "ext_pillar: [{vault: x}, {nacl: y}]",
        "exclude_ext_pillar: [nacl]",
        "jinja_sls_env: {line_statement_prefix: '%'}",
        "",
      ].join("\n"),
    );
    try {
      const { out, code } = await call(`--pillar-root=${folder}/pillar`, "pillar.items");
      assert.equal(code, 0);
      assert.deepEqual(JSON.parse(out).local, {
        tier: "here-front",
        _errors: [
          "ext_pillar: vault is not available on the minion",
          "decrypt_pillar: nacl is not available on the minion",
          "jinja_sls_env: line_statement_prefix is not available on the minion",
        ],
      });
    } finally {
      rmSync(extra);
    }
  });

  it("obeys the options of pillars in the minion's configuration", async () => {
    write("options/first.sls", "base: {'N@web': [b, c, a]}\n");
    write("options/a.sls", "list: [1]\nraised: {{ salt['pillar.get']('no') }}\n");
    write("options/b.sls", "list: [1]\n");
    write("options/c.sls", "list: [2]\n");
    const extra = write(
      "minion.d/pillar.conf",
      "nodegroups: {web: here}\nstate_top: first.sls\npillar_merge_lists: true\npillar_raise_on_missing: true\npillar_safe_render_error: false\n",
    );
    try {
      const { out, err } = await call(`--pillar-root=${folder}/options`, "pillar.items");
      const fault = `Rendering SLS 'a' failed, render error:\nJinja error: 'Pillar key not found: no'; line 2; file ${folder}/options/a.sls`;
      assert.deepEqual(JSON.parse(out).local, { list: [1, 2], _errors: [fault] });
      assert.ok(err.includes(fault), err);
    } finally {
      rmSync(extra);
    }
  });

  it("serves files from the directory that it is given", async () => {
    const root = `--file-root=${folder}/files`;
    assert.deepEqual(await local(root, "cp.list_master"), ["deep/app.conf", "top.txt"]);
    assert.equal(await local(root, "cp.get_file_str", "salt://deep/app.conf"), "port = 1\n");
    const cached = await local(root, "cp.cache_file", "salt://deep/app.conf");
    assert.equal(cached, join(folder, "root/var/cache/salt/minion/files/base/deep/app.conf"));
    assert.equal(await local("cp.is_cached", "salt://deep/app.conf"), cached);
    const target = join(folder, "got", "app.conf");
    assert.equal(await local(root, "cp.get_file", "salt://deep/app.conf", target), false, "no such directory");
    assert.equal(await local(root, "cp.get_file", "salt://deep/app.conf", target, "makedirs=True"), target);
    assert.equal(await local(root, "cp.get_file", "salt://nope", target), "");
    assert.deepEqual(await local(root, "cp.hash_file", "salt://deep/app.conf"), {
      hsum: "a512046503d7fca82f59d5d02e627becbdde094e5863f8951a6e709016186d84",
      hash_type: "sha256",
    });
    assert.match((await call(root, "cp.cache_file", "salt://../../x")).out, /"local": false/);
  });

  it("says that these directories count for nothing where there is a master", async () => {
    const host = new TestHost();
    const words = ["--file-root=/a", "--pillar-root=/b", "-m", "/no/such/directory", "test.ping"];
    await dispatch(["call", "-c", folder, ...words], host);
    assert.match(host.err, /^Warning: --file-root, --pillar-root are ignored because --local was not specified; /);
  });

  it("runs functions of modules in another directory, and names modules that it cannot run", async () => {
    const { out, err } = await call("-m", `${folder}/modules`, "shop.price", "salt", "factor=3");
    assert.deepEqual(JSON.parse(out), { local: { item: "salt", price: 6 } });
    assert.equal(err, `[WARNING ] ${folder}/modules: modules in Python cannot run here: old.py\n`);
    const documented = await call("-l", "error", "-m", `${folder}/modules`, "-d", "shop.price");
    assert.equal(documented.out, "shop.price:\n\n    What it costs.\n    \n\n");
    const missing = await call("-m", `${folder}/nowhere`, "test.ping");
    assert.match(missing.err, /^saltworks call: error: --module-dirs: ENOENT/);
    assert.equal(missing.code, 64);
  });

  it("leaves keywords as text, shows metadata, and takes another id and cache directory", async () => {
    assert.deepEqual(await local("--no-parse=a,b", "test.arg_clean", "a=1", "b=[x]", "c=1"), {
      args: [],
      kwargs: { a: "1", b: "[x]", c: 1 },
    });
    const shown = (await local("--metadata", "--set-metadata={ticket: 7}", "test.ping")) as Record<string, unknown>;
    assert.deepEqual(shown, { ...shown, return: true, fun: "test.ping", id: "here", metadata: { ticket: 7 } });
    assert.deepEqual(await local("--id=other", "grains.items"), { id: "other" });
    assert.equal(await local(`--cachedir=${folder}/cache`, "config.get", "cachedir"), `${folder}/cache`);
    assert.equal(await local("config.get", "output", "not set"), "not set");
  });

  it("says which returner it does not have, and shows the result", async () => {
    const { out, err, code } = await call("--return=nosuch", "test.ping");
    assert.deepEqual([JSON.parse(out), code], [{ local: true }, 0]);
    assert.match(err, /^\[ERROR {3}\] The return failed for job \d+: nosuch: 'nosuch\.returner' is not available\.\n$/);
  });

  it("passes the function's code on where it is told to", async () => {
    assert.equal((await call("test.retcode", "42")).code, 1);
    assert.equal((await call("--retcode-passthrough", "test.retcode", "42")).code, 42);
  });
});
