/** Files from git repositories. What Salt 3007 answered for the same repositories and options is in golden/gitfs.json. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig, type Overrides } from "../../src/config/load.ts";
import { fileServerSettings } from "../../src/fileserver/backends/contract/settings.ts";
import { FileServer } from "../../src/fileserver/file-server.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { repositoryRoot } from "../root.ts";
import { skipWithout } from "../services/service.ts";
import { fileRepositories, SampleRepository, samplesFolder } from "./sample-repositories.ts";

type Case = Overrides & { readonly _envs?: readonly string[]; readonly _ask?: readonly string[] };
const golden: { readonly cases: Readonly<Record<string, Case>>; readonly answers: Readonly<Record<string, unknown>> } =
  JSON.parse(readFileSync(join(repositoryRoot, "test/git/golden/gitfs.json"), "utf8"));

const skip = skipWithout("git");
const { folder, remove } = samplesFolder();
let serverCount = 0;

function serverOf(options: Overrides): FileServer {
  serverCount += 1;
  const own = join(folder, `master${serverCount}`);
  mkdirSync(own);
  const written = JSON.parse(JSON.stringify(options).replaceAll("FOLDER", folder)) as Overrides;
  const config = loadMasterConfig(own, { cachedir: join(own, "cache"), fileserver_backend: ["git"], ...written });
  return new FileServer(fileServerSettings(config, process.env));
}

async function ask(server: FileServer, cmd: string, path: string, saltenv: string, more: object = {}) {
  const load = new Map<Value, Value>(Object.entries({ path, saltenv, ...more }));
  return (await server.answer(cmd, load, undefined)) as { readonly [name: string]: Encodable };
}

async function content(server: FileServer, path: string, saltenv: string): Promise<string | null> {
  const { path: place } = await ask(server, "_file_find", path, saltenv);
  if (place === "") return null;
  return Buffer.from((await ask(server, "_serve_file", path, saltenv, { loc: 0 })).data as Uint8Array).toString();
}

async function answersOf(server: FileServer, { _envs = [], _ask = [] }: Case) {
  const envs = await server.environments();
  const answers: Record<string, unknown> = { envs };
  for (const env of [...envs, ..._envs]) {
    const files = await server.list("files", env);
    const found: Record<string, unknown> = {};
    for (const name of [...new Set([...files, ..._ask])].sort()) {
      const text = await content(server, name, env);
      found[name] = text === null ? null : [text, (await ask(server, "_file_find", name, env)).stat];
    }
    const links = Object.fromEntries(await server.symlinks(env));
    answers[env] = { files, dirs: await server.list("dirs", env), links, found };
  }
  return answers;
}

before(() => {
  if (skip === false) fileRepositories(folder);
});
after(remove);

describe("files of git repositories are Salt's", { skip }, () => {
  for (const [name, { _envs, _ask, ...options }] of Object.entries(golden.cases))
    it(name, async () => {
      const server = serverOf(options as Overrides);
      await server.update();
      const asked = { ...(_envs && { _envs }), ...(_ask && { _ask }) } as Case;
      assert.deepEqual(await answersOf(server, asked), golden.answers[name]);
    });
});

describe("a git repository", { skip }, () => {
  it("gives commits by the start of their ids, and nothing by other objects' ids", async () => {
    const server = serverOf({ gitfs_remotes: ["file://FOLDER/one"] });
    await server.update();
    const one = new SampleRepository(join(folder, "one"));
    assert.equal(await content(server, "top.sls", one.git("rev-parse", "dev").slice(0, 12)), "devtop\n");
    assert.equal(await content(server, "top.sls", one.git("rev-parse", "v1")), "devtop\n");
    assert.equal(await content(server, "top.sls", one.git("rev-parse", "dev:top.sls")), null);
    assert.equal(await content(server, "top.sls", "deadbeef"), null);
  });

  it("gives large files in pieces, with their hash", async () => {
    const bytes = Buffer.alloc(3_000_000, "0123456789abc");
    const large = new SampleRepository(join(folder, "large"));
    large.commit({ big: bytes });
    const server = serverOf({ gitfs_remotes: [large.url] });
    await server.update();
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256").update(bytes).digest("hex");
    assert.equal((await ask(server, "_file_hash", "big", "base")).hsum, hash);
    const pieces: Uint8Array[] = [];
    for (let loc = 0; ; ) {
      const { data } = await ask(server, "_serve_file", "big", "base", { loc });
      if ((data as Uint8Array).length === 0) break;
      pieces.push(data as Uint8Array);
      loc += (data as Uint8Array).length;
    }
    assert.ok(Buffer.concat(pieces).equals(bytes));
  });

  it("shows what a fetch brings and takes away, and says whether anything has changed", async () => {
    const source = new SampleRepository(join(folder, "changing"));
    source.commit({ a: "1" });
    source.git("branch", "old");
    const server = serverOf({ gitfs_remotes: [source.url] });
    const update = async () => (await server.update()).get("git")?.isChanged;
    assert.equal(await content(server, "a", "base"), null);
    assert.equal(await update(), true);
    assert.equal(await update(), false);
    const lists = await server.list("files", "base");
    assert.equal(await server.list("files", "base"), lists, "unchanged lists are the same object");
    source.commit({ a: "2", "b/c": "3" });
    source.git("branch", "-D", "old");
    assert.deepEqual([await content(server, "a", "base"), await server.environments()], ["1", ["base", "old"]]);
    assert.equal(await update(), true);
    assert.deepEqual([await content(server, "a", "base"), await server.environments()], ["2", ["base"]]);
    assert.deepEqual(await server.list("files", "base"), ["a", "b/c"]);
  });

  it("that cannot be fetched keeps what it had, is named without its password, and holds up no other one", async () => {
    const [first, second] = ["failing", "healthy"].map((name) => new SampleRepository(join(folder, name)));
    assert.ok(first !== undefined && second !== undefined);
    first.commit({ first: "1" });
    second.commit({ second: "1" });
    const gone = "http://user:hidden@127.0.0.1:1/gone.git";
    const server = serverOf({ gitfs_remotes: [first.url, gone, second.url] });
    const { failure } = (await server.update()).get("git") ?? {};
    assert.match(failure ?? "", /^gitfs remote http:\/\/127\.0\.0\.1:1\/gone\.git: .*onnect/);
    assert.doesNotMatch(failure ?? "", /hidden/);
    assert.deepEqual(await server.list("files", "base"), ["first", "second"]);
  });

  it("is fetched by one at a time, and not while it is locked; a lock of a dead process does not count", async () => {
    const server = serverOf({ gitfs_remotes: ["file://FOLDER/one"] });
    assert.deepEqual(server.lock("lock", "*two"), []);
    assert.deepEqual(server.lock("lock", "*one"), [`Set update lock for gitfs remote 'file://${folder}/one'`]);
    assert.match((await server.update()).get("git")?.failure ?? "", /one: locked, and not fetched/);
    assert.deepEqual(await server.environments(), []);
    assert.deepEqual(server.lock("clearLock", undefined), [
      `Removed update lock for gitfs remote 'file://${folder}/one'`,
    ]);
    const lockFile = join(folder, `master${serverCount}`, "cache/git_repositories/gitfs");
    const [directory = ""] = readdirSync(lockFile);
    writeFileSync(join(lockFile, directory, "update.lk"), "999999999");
    assert.equal((await server.update()).get("git")?.failure, undefined);
    assert.ok((await server.environments()).includes("base"));
  });

  it("starts nothing that its name or its refs say", async () => {
    const mark = join(folder, "was-started");
    for (const url of [`ext::sh -c "touch ${mark}"`, `--upload-pack=touch ${mark}`, "-x", "/plain/path", "git://h/x"])
      assert.throws(() => serverOf({ gitfs_remotes: [url] }), {
        code: "CONFIG_INVALID",
        message: /gitfs remote .* has an address of another form/,
      });
    assert.throws(
      () => serverOf({ gitfs_remotes: ["file://FOLDER/one"], gitfs_refspecs: [`--upload-pack=touch ${mark}`] }),
      {
        message: /has a refspec that cannot be read/,
      },
    );
    const hostile = new SampleRepository(join(folder, "hostile"));
    hostile.commit({ "--help": "1", "-x y\n z": "2" });
    hostile.git("update-ref", "refs/heads/--upload-pack=x", "HEAD");
    hostile.git("symbolic-ref", "HEAD", "refs/heads/master");
    const server = serverOf({ gitfs_remotes: [hostile.url] });
    await server.update();
    assert.equal(await content(server, "--help", "--upload-pack=x"), "1");
    assert.equal(await content(server, "-x y\n z", "base"), "2");
    assert.equal(existsSync(mark), false);
  });

  it("names what is wrong with a remote's options", () => {
    const wrong: readonly [unknown, RegExp][] = [
      [{ "file:///x": [] }, /has no options/],
      [{ "file:///x": [{ branch: "y" }] }, /has no option 'branch'; known: base, /],
      [{ "file:///x": [{ ref_types: ["head"] }] }, /has a ref_type 'head'/],
      [{ "http://h/x": [{ user: "u" }, { password: "p" }] }, /would send its password over http:\/\/; insecure_auth/],
    ];
    for (const [remote, message] of wrong)
      assert.throws(() => serverOf({ gitfs_remotes: [remote] } as Overrides), { code: "CONFIG_INVALID", message });
    assert.throws(() => serverOf({ gitfs_remotes: ["file:///x", "file:///x"] }), { message: /is there twice/ });
  });
});
