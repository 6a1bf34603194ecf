import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { findNatsServer } from "../../../src/cluster/server/program.ts";
import { SaltworksError } from "../../../src/errors.ts";

const root = mkdtempSync(join(tmpdir(), "nats-program-"));
after(() => rmSync(root, { recursive: true }));

/** A program of the shell below the test's directory. @returns its path */
function put(path: string, script: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const telling = (version: string) => `[ "$1" = --version ] && echo "nats-server: v${version}"`;

const old = put("debian/nats-server", telling("2.9.10"));
const onPath = put("local/nats-server", telling("2.11.4"));
const newer = put("newer/nats-server", telling("2.100.0"));
const built = put("home/.cache/saltworks/nats-server-2.15.2/nats-server", telling("2.15.2"));
const inCache = put("cache/saltworks/nats-server-2.15.2/nats-server", telling("2.15.2"));
const home = join(root, "home");

function pathOf(...programs: readonly string[]): { readonly PATH: string } {
  return { PATH: programs.map((program) => dirname(program)).join(":") };
}

/** What the error says. */
async function complaint(search: Parameters<typeof findNatsServer>[0]): Promise<string> {
  const error = await findNatsServer(search).then(undefined, (reason: unknown) => reason);
  assert.ok(error instanceof SaltworksError);
  assert.equal(error.code, "PACKAGE_MISSING");
  return error.message;
}

describe("findNatsServer", () => {
  it("takes the program that the option names before all others", async () => {
    const found = await findNatsServer({ option: newer, environment: pathOf(onPath), home });
    assert.deepEqual(found, { program: newer, version: "2.100.0" });
  });

  it("takes the first on the PATH before the built one", async () => {
    const found = await findNatsServer({ environment: pathOf(onPath, newer), home });
    assert.deepEqual(found, { program: onPath, version: "2.11.4" });
  });

  it("passes over an older one on the PATH in favour of a later one, or the built one", async () => {
    const later = await findNatsServer({ option: "", environment: pathOf(old, onPath), home });
    assert.equal(later.program, onPath);
    const last = await findNatsServer({ environment: pathOf(old), home });
    assert.deepEqual(last, { program: built, version: "2.15.2" });
  });

  it("looks for the built one below XDG_CACHE_HOME, unless that is relative", async () => {
    const there = await findNatsServer({ environment: { XDG_CACHE_HOME: join(root, "cache") }, home });
    assert.equal(there.program, inCache);
    const atHome = await findNatsServer({ environment: { XDG_CACHE_HOME: "cache" }, home });
    assert.equal(atHome.program, built);
  });

  it("does not look into relative folders of the PATH", async () => {
    const before = process.cwd();
    process.chdir(root);
    try {
      const found = await findNatsServer({ environment: { PATH: `local::.:${dirname(newer)}` }, home });
      assert.equal(found.program, newer);
    } finally {
      process.chdir(before);
    }
  });

  it("refuses what the option names, with version and file, though another would fit", async () => {
    const text = await complaint({ option: old, environment: pathOf(onPath), home });
    assert.ok(text.includes(`${old}: version 2.9.10 is older than 2.11.0`), text);
    assert.match(text, /cluster_nats_server/);
    assert.ok(!text.includes(onPath), text);
    assert.match(await complaint({ option: "nats-server", environment: pathOf(onPath) }), /not an absolute path/);
  });

  it("says all places that it looked at, what was wrong with each, and how to build one", async () => {
    const closed = put("closed/nats-server", telling("2.15.2"));
    chmodSync(closed, 0o644);
    const silent = put("silent/nats-server", "echo hello");
    const failing = put("failing/nats-server", "exit 3");
    const nowhere = join(root, "nowhere");
    const text = await complaint({ environment: pathOf(old, closed, silent, failing), home: nowhere });
    for (const part of [
      `${old}: version 2.9.10 is older than 2.11.0`,
      `${closed}: it cannot be run (permission denied)`,
      `${silent}: it does not tell a version of nats-server`,
      `${failing}: it ended with exit code 3`,
      `${nowhere}/.cache/saltworks/nats-server-2.15.2/nats-server: there is no such file`,
      "npm run nats-server",
      "2.11.0 or newer",
    ]) {
      assert.ok(text.includes(part), `${part} is missing in: ${text}`);
    }
  });

  it("ends a program that does not tell its version in time", async () => {
    // The second process keeps the output open after the first was killed.
    const hanging = put("hanging/nats-server", "sleep 20 & wait");
    const text = await complaint({ option: hanging, environment: {}, timeoutMs: 200 });
    assert.ok(text.includes(`${hanging}: it did not tell its version within 0.2 s`), text);
  });
});
