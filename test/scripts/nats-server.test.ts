/** scripts/nats-server.mjs with a `go` of the test's own: what it builds where, and what it refuses. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { findNatsServer } from "../../src/cluster/server/program.ts";
import { repositoryRoot } from "../root.ts";

const root = mkdtempSync(join(tmpdir(), "nats-script-"));
after(() => rmSync(root, { recursive: true }));
const script = join(repositoryRoot, "scripts", "nats-server.mjs");
const hash = "h1:yLsgt2kslgymvxvjFq1WGWck5hkat2YYfbXvQ145tzU=";

/** One run, milliseconds: it takes less than one second, and a busy machine several. */
const runMs = 60_000;

type Fake = { readonly version?: string; readonly sum?: string; readonly build?: string };

/** A folder with a `go` of the shell. `build`: what it does with the path of the program to write, as `$out`. */
function goFolder(name: string, { version = "1.26.4", sum = hash, build = buildsProgram }: Fake): string {
  const folder = join(root, name);
  const text = `#!/bin/sh
case $1 in
  env) echo "go${version}"; echo "$GOPROXY" ;;
  mod) mkdir -p "$GOMODCACHE/server" && echo '{"Sum": "${sum}", "Dir": "'"$GOMODCACHE/server"'"}' ;;
  build) while [ "$1" != -o ]; do shift; done; out=$2; ${build} ;;
esac
`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "go"), text);
  chmodSync(join(folder, "go"), 0o755);
  return folder;
}

const buildsProgram = `printf '#!/bin/sh\\necho nats-server: v2.15.2\\n' >"$out"; chmod +x "$out"`;

/** The variables of a run: `name` has its own directories for the cache and for what is temporary. */
function variables(name: string, folders: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const [cache, temporary] = [join(root, name, "cache"), join(root, name, "tmp")];
  mkdirSync(temporary, { recursive: true });
  const PATH = [...folders, "/usr/bin", "/bin"].join(":");
  return { XDG_CACHE_HOME: cache, TMPDIR: temporary, HOME: root, PATH, ...more };
}

function runScript(env: Readonly<Record<string, string>>, ...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...words], {
    env,
    encoding: "utf8",
    timeout: runMs,
  });
  return { status, stdout, stderr };
}

/** All files below a run's directories. */
function leftOf(name: string): string[] {
  return ["cache", "tmp"].flatMap((part) => {
    const folder = join(root, name, part);
    const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  });
}

describe("the script that builds nats-server", { timeout: 120_000 }, () => {
  it("puts it where the master looks for it, leaves nothing else, and does nothing the second time", async () => {
    const env = variables("built", [goFolder("go", {})]);
    const first = runScript(env);
    assert.equal(first.status, 0, first.stderr);
    // In a pipe only the start and the end are told.
    assert.match(first.stdout, /^nats-server 2\.15\.2 is built with Go 1\.26\.4\n.*is ready after \d+ s: .*\n$/);
    const found = await findNatsServer({ environment: { XDG_CACHE_HOME: env.XDG_CACHE_HOME } });
    assert.equal(found.version, "2.15.2");
    assert.deepEqual(leftOf("built"), [found.program]);
    const second = runScript({ ...env, PATH: "" });
    assert.equal(second.stdout, `nats-server 2.15.2 is there already: ${found.program}\n`);
    assert.equal(second.status, 0);
  });

  it("replaces another version in the folder that --to names", () => {
    const folder = join(root, "other");
    mkdirSync(folder);
    writeFileSync(join(folder, "nats-server"), "#!/bin/sh\necho nats-server: v2.9.10\n", { mode: 0o755 });
    const { status, stderr } = runScript(variables("to", [goFolder("go", {})]), "--to", folder);
    assert.equal(status, 0, stderr);
    assert.match(readFileSync(join(folder, "nats-server"), "utf8"), /v2\.15\.2/);
    assert.deepEqual(readdirSync(folder), ["nats-server"]);
    assert.deepEqual(leftOf("to"), []);
  });

  it("builds nothing from a module with another hash", () => {
    const { status, stderr } = runScript(variables("hash", [goFolder("forged", { sum: "h1:forged=" })]));
    assert.equal(status, 1);
    assert.ok(stderr.includes(`has the hash h1:forged=, but ${hash} is expected: nothing was built`), stderr);
    assert.deepEqual(leftOf("hash"), []);
  });

  it("says why a build failed, and leaves no part of it", () => {
    const build = 'echo part >"$out"; echo "disk is full" >&2; exit 1';
    const { status, stderr } = runScript(variables("failed", [goFolder("failing", { build })]));
    assert.equal(status, 1);
    assert.equal(stderr, "the build failed: disk is full\n");
    assert.deepEqual(leftOf("failed"), []);
  });

  it("ends its build and removes all of it when it is told to stop", async () => {
    const started = join(root, "started");
    spawnSync("mkfifo", [started]);
    const build = `echo part >"$out"; echo yes >'${started}'; exec sleep 60`;
    const env = variables("stopped", [goFolder("slow", { build })]);
    const child = spawn(process.execPath, [script], { env, stdio: "ignore" });
    const ended = once(child, "exit");
    assert.equal(spawnSync("head", ["-n", "1", started], { encoding: "utf8", timeout: runMs }).stdout, "yes\n");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [143, null]);
    assert.deepEqual(leftOf("stopped"), []);
  });

  it("fetches Go where it is missing", () => {
    const proxy = `file://${root}/mirror`;
    const { status, stderr } = runScript({ ...variables("no-go", []), PATH: root, GOPROXY: proxy });
    assert.equal(status, 1);
    assert.ok(stderr.includes(`${proxy}/golang.org/toolchain/@v/`), stderr);
    assert.match(stderr, /no such file/);
  });

  it("fetches Go where it is too old, tries each proxy, and refuses what has another hash", async () => {
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(`${request.headers.authorization ?? "stranger"} ${request.url}`);
      if (request.url?.startsWith("/empty/")) response.statusCode = 404;
      response.end("not a toolchain");
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const at = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const GOPROXY = `http://${at}/empty,http://ann:s3cret@${at}/go,direct`;
    const env = variables("old-go", [goFolder("old", { version: "1.19.8" })], { GOPROXY });
    const child = spawn(process.execPath, [script], { env, stdio: ["ignore", "ignore", "pipe"] });
    let complaint = "";
    child.stderr.on("data", (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    const [status] = await once(child, "close");
    proxy.close();
    assert.equal(status, 1);
    const file = /\/golang\.org\/toolchain\/@v\/v0\.0\.1-go1\.26\.\d+\.linux-\w+\.zip$/;
    assert.equal(asked.length, 2);
    assert.match(asked[0] ?? "", file);
    assert.ok(asked[1]?.startsWith(`Basic ${Buffer.from("ann:s3cret").toString("base64")} /go/`), asked[1]);
    assert.match(complaint, /Go 1\.26\.\d+ could not be fetched\n.*status 404\n.*its SHA-256 is [0-9a-f]{64}, but/);
    assert.match(complaint, /Install Go 1\.26\.0 or newer, or set GOPROXY/);
    assert.doesNotMatch(complaint, /s3cret/);
    assert.deepEqual(leftOf("old-go"), []);
  });
});
