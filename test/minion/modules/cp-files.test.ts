import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FileServer } from "../../../src/fileserver/file-server.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { asValue, type Encodable, type Value } from "../../../src/wire/values.ts";
import { type OpenFiles, openFiles } from "../../fileserver/open-files.ts";
import { openWorld, valueOfCall, type World } from "./world.ts";

const big = "0123456789abcdef".repeat(1_000);
const tree = {
  "base/a.txt": "one\n",
  "base/empty": "",
  "base/big": big,
  "base/web/init.sls": "x: y\n",
  "base/web/db.sls": "",
  "base/web/files/conf": "port = 1\n",
  "dev/a.txt": "dev\n",
};

let folder: string;
let files: OpenFiles;
let world: World;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "saltworks-cp-files-"));
  files = openFiles({ file_buffer_size: 4_096, file_recv: true }, tree);
  mkdirSync(join(files.folder, "base/web/hollow"));
  world = await openAt(join(folder, "remote"));
});
after(() => {
  files.remove();
  rmSync(folder, { recursive: true });
});

/** A minion whose requests the master's own file server answers. */
async function openAt(root: string, minion = ""): Promise<World> {
  const server = new FileServer(files.settings);
  const answer = async (load: { readonly [name: string]: Encodable }): Promise<Value> =>
    decode(encode(await server.answer(String(load.cmd), asValue(load) as Map<Value, Value>, "unit"), "raw"));
  return await openWorld(root, { minion: `id: unit\nroot_dir: ${root}\n${minion}`, master: answer as never });
}

const at = (...names: string[]) => join(folder, "out", ...names);
const commands = () => world.asked.map((load) => load.get("cmd"));

describe("cp.get_file", () => {
  it("copies a file, large ones piece by piece, and leaves unchanged files alone", async () => {
    mkdirSync(at(), { recursive: true });
    assert.equal(await valueOfCall(world, "cp.get_file", "salt://big", at("big")), at("big"));
    assert.equal(readFileSync(at("big"), "utf8"), big);
    world.asked.length = 0;
    assert.equal(await valueOfCall(world, "cp.get_file", "salt://big", at()), at("big"));
    assert.deepEqual(commands(), ["_file_hash"]);
    writeFileSync(at("big"), "changed here");
    await valueOfCall(world, "cp.get_file", "salt://big", at("big"), "gzip=5");
    assert.equal(readFileSync(at("big"), "utf8"), big);
    await valueOfCall(world, "cp.get_file", "salt://empty", at("empty"));
    assert.equal(statSync(at("empty")).size, 0);
  });

  it("tells a missing file from a missing directory", async () => {
    assert.equal(await valueOfCall(world, "cp.get_file", "salt://nope", at("nope")), "");
    assert.equal(existsSync(at("nope")), false);
    assert.equal(await valueOfCall(world, "cp.get_file", "salt://a.txt", at("no/where")), false);
    assert.equal(
      await valueOfCall(world, "cp.get_file", "salt://a.txt", at("no/where"), "makedirs=True"),
      at("no/where"),
    );
    assert.equal(
      await valueOfCall(world, "cp.get_file", "salt://a.txt?saltenv=dev", at("dev"), "saltenv=base"),
      at("dev"),
    );
    assert.equal(readFileSync(at("dev"), "utf8"), "dev\n");
    await assert.rejects(valueOfCall(world, "cp.get_file", "/etc/hosts", at("x")), /Unsupported path: \/etc\/hosts/);
    await assert.rejects(
      valueOfCall(world, "cp.get_file", "salt://a.txt", at("x"), "saltenv=../x"),
      /is not an environment/,
    );
  });
});

describe("templates", () => {
  it("are paths on request, and files that are rendered before they are written", async () => {
    const words = ["salt://{{ 'a' }}.txt", `${at()}/{{ saltenv }}-copy`, "template=jinja"];
    assert.equal(await valueOfCall(world, "cp.get_file", ...words), at("base-copy"));
    assert.equal(readFileSync(at("base-copy"), "utf8"), "one\n");
    files.write("base/greeting", "{{ 1 + 1 }} in {{ saltenv }}\n");
    assert.equal(await valueOfCall(world, "cp.get_template", "salt://greeting", at("greeting")), at("greeting"));
    assert.match(readFileSync(at("greeting"), "utf8"), /^2 in base/);
    files.write("base/broken", "{% if %}");
    assert.equal(await valueOfCall(world, "cp.get_template", "salt://broken", at("broken")), "");
    assert.match(world.logged.join("\n"), /Failed to render template/);
    assert.equal(await valueOfCall(world, "cp.get_template", "salt://nope", at("nope")), "");
    for (const name of ["greeting", "broken"]) rmSync(join(files.folder, "base", name));
  });
});

describe("cp.get_dir", () => {
  it("copies a directory with its content, empty directories too", async () => {
    const copied = await valueOfCall(world, "cp.get_dir", "salt://web/", at("tree"));
    const names = ["web/db.sls", "web/files/conf", "web/hollow", "web/init.sls"];
    assert.deepEqual(
      copied,
      names.map((name) => at("tree", name)),
    );
    assert.ok(statSync(at("tree/web/hollow")).isDirectory());
    const inner = await valueOfCall(world, "cp.get_dir", "salt://web/files", at("inner"));
    assert.deepEqual(inner, [at("inner/files/conf")]);
    assert.deepEqual(await valueOfCall(world, "cp.get_dir", "salt://we", at("none")), []);
  });
});

describe("the minion's cache", () => {
  it("keeps files in Salt's places, readable by the minion only, and lists them", async () => {
    const path = join(world.config.cachedir, "files/base/web/files/conf");
    assert.equal(await valueOfCall(world, "cp.is_cached", "salt://web/files/conf"), "");
    assert.equal(await valueOfCall(world, "cp.cache_file", "salt://web/files/conf"), path);
    assert.equal(readFileSync(path, "utf8"), "port = 1\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(await valueOfCall(world, "cp.is_cached", "salt://web/files/conf"), path);
    assert.equal(
      await valueOfCall(world, "cp.cache_dest", "salt://web/x?saltenv=dev"),
      join(world.config.cachedir, "files/dev/web/x"),
    );
    assert.equal(await valueOfCall(world, "cp.cache_file", "salt://nope"), false);
    assert.equal(await valueOfCall(world, "cp.get_file_str", "salt://web/files/conf"), "port = 1\n");
    assert.equal(await valueOfCall(world, "cp.get_file_str", "salt://nope"), false);
    await assert.rejects(valueOfCall(world, "cp.is_cached", "salt://../../x"), /leads out of the file roots/);
  });

  it("takes several files at a time", async () => {
    const cached = (...names: string[]) => names.map((name) => join(world.config.cachedir, "files/base", name));
    const some = await valueOfCall(world, "cp.cache_files", "salt://a.txt,salt://nope");
    assert.deepEqual(some, [...cached("a.txt"), false]);
    const states = await valueOfCall(world, "cp.cache_dir", "salt://web", "include_pat=*.sls", "exclude_pat='E@db'");
    assert.deepEqual(states, cached("web/init.sls"));
    assert.equal(((await valueOfCall(world, "cp.cache_master")) as Value[]).length, 6);
    const own = join(folder, "own.txt");
    writeFileSync(own, "mine");
    const local = (await valueOfCall(world, "cp.cache_local_file", own)) as string;
    assert.equal(readFileSync(local, "utf8"), "mine");
    assert.equal(await valueOfCall(world, "cp.is_cached", own), local);
    const listed = (await valueOfCall(world, "cp.list_minion")) as string[];
    assert.ok(listed.includes(local) && listed.includes(cached("big")[0] ?? ""));
  });
});

describe("questions about the master's files", () => {
  for (const kind of ["asked of the master", "answered from file_roots without one"]) {
    it(`are ${kind}`, async () => {
      const roots = JSON.stringify({ base: [join(files.folder, "base")], dev: [join(files.folder, "dev")] });
      const local = `file_client: local\nfile_roots: ${roots}\n`;
      const some = kind.startsWith("asked") ? world : await openAt(join(folder, "local"), local);
      const ask = (...words: string[]) => valueOfCall(some, ...words);
      const all = ["a.txt", "big", "empty", "web/db.sls", "web/files/conf", "web/init.sls"];
      assert.deepEqual(await ask("cp.list_master"), all);
      assert.deepEqual(await ask("cp.list_master", "prefix=web/f"), ["web/files/conf"]);
      assert.deepEqual(await ask("cp.list_master_dirs"), ["web", "web/files", "web/hollow"]);
      assert.deepEqual(await ask("cp.list_states"), ["web", "web.db"]);
      assert.deepEqual(await ask("cp.envs"), ["base", "dev"]);
      const { hsum } = (await ask("cp.hash_file", "salt://a.txt")) as { hsum: string };
      assert.equal(hsum, "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806");
      assert.equal(await ask("cp.hash_file", "salt://nope"), "");
      assert.equal(
        await ask("cp.stat_file", "salt://a.txt"),
        `0${(statSync(join(files.folder, "base/a.txt")).mode & 0o777).toString(8)}`,
      );
      assert.equal(await ask("cp.stat_file", "salt://nope"), null);
      assert.equal(await ask("cp.get_file_str", "salt://a.txt", "saltenv=dev"), "dev\n");
      assert.equal(
        await ask("cp.get_file_str", "salt://../dev/a.txt")
          .catch(String)
          .then((value) => String(value).includes("dev\n")),
        false,
      );
    });
  }
});

describe("cp.push", () => {
  it("sends a file to the master, and a directory's files that match", async () => {
    const source = join(folder, "send");
    mkdirSync(join(source, "sub"), { recursive: true });
    writeFileSync(join(source, "x.conf"), "x".repeat(300_000));
    writeFileSync(join(source, "sub/y.conf"), "");
    writeFileSync(join(source, "z.txt"), "z");
    const received = (name: string) => join(files.config.cachedir, "minions/unit/files", name);
    assert.equal(await valueOfCall(world, "cp.push", join(source, "x.conf"), "upload_path=/got/x"), true);
    assert.equal(readFileSync(received("got/x"), "utf8"), "x".repeat(300_000));
    assert.equal(await valueOfCall(world, "cp.push_dir", source, "glob='*.conf'", "upload_path=/dir"), true);
    assert.deepEqual([existsSync(received("dir/sub/y.conf")), existsSync(received("dir/z.txt"))], [true, false]);
    assert.equal(await valueOfCall(world, "cp.push", join(source, "z.txt"), "remove_source=True"), true);
    assert.equal(existsSync(join(source, "z.txt")), false);
    assert.equal(await valueOfCall(world, "cp.push", join(source, "nope")), false);
    assert.equal(await valueOfCall(world, "cp.push", "relative"), false);
  });
});

describe("cp.get_url", () => {
  let server: Server;
  let address: string;
  let requests = 0;
  before(async () => {
    server = createServer((request, response) => {
      requests += 1;
      const isThere = request.url === "/dir/file.txt?v=1";
      response.writeHead(isThere ? 200 : 404).end(isThere ? `for ${request.headers.authorization ?? "anybody"}` : "");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it("copies a web server's file, without a destination into the cache", async () => {
    const url = `http://${address}/dir/file.txt?v=1`;
    const cached = join(world.config.cachedir, "extrn_files/base", address.replace(":", ""), "dir/file.txt-v=1");
    assert.equal(await valueOfCall(world, "cp.get_url", url), cached);
    assert.equal(readFileSync(cached, "utf8"), "for anybody");
    const sum = "45b1e4ba6ae6d3d7eb5f9d2c1e0d4fbd";
    await valueOfCall(world, "cp.cache_file", url, `source_hash=md5=${sum}`);
    assert.equal(await valueOfCall(world, "cp.get_url", url, at("page")), at("page"));
    const asUser = url.replace("http://", "http://me:pass@");
    assert.equal(await valueOfCall(world, "cp.get_url", asUser, "None"), "for Basic bWU6cGFzcw==");
    await assert.rejects(
      valueOfCall(world, "cp.get_url", `http://${address}/nope`, at("n")),
      /Error: HTTP 404: Not Found reading \/nope/,
    );
    await assert.rejects(valueOfCall(world, "cp.get_url", "ftp://x/y"), /ftp:\/\/ is not supported/);
    assert.ok(requests >= 5);
  });

  it("gives the path of this machine's file, and copies the master's", async () => {
    assert.equal(await valueOfCall(world, "cp.get_url", "file:///etc/hostname"), "/etc/hostname");
    await assert.rejects(valueOfCall(world, "cp.get_url", "hosts"), /Path 'hosts' is not absolute/);
    assert.equal(await valueOfCall(world, "cp.get_url", "salt://a.txt", at("url")), at("url"));
    assert.equal(await valueOfCall(world, "cp.get_url", "salt://a.txt", "None"), "one\n");
    assert.equal(await valueOfCall(world, "cp.get_url", "salt://nope", at("url2")), false);
  });
});
