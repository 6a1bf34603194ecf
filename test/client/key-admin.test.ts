import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { KeyAdmin, stateName, statesNamed } from "../../src/client/key-admin.ts";
import { fingerprint } from "../../src/crypto/pem.ts";
import { EventStreamServer } from "../../src/transport/event-stream-server.ts";
import { decodeEvent } from "../../src/wire/event.ts";

const { publicKey: pem } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});

describe("KeyAdmin", () => {
  let folder: string;
  let admin: KeyAdmin;
  const put = (directory: string, ...ids: string[]): void => {
    mkdirSync(join(folder, "pki", directory), { recursive: true });
    for (const id of ids) writeFileSync(join(folder, "pki", directory, id), pem);
  };
  const has = (directory: string, id: string): boolean => existsSync(join(folder, "pki", directory, id));
  const config = () => ({
    pki_dir: join(folder, "pki"),
    cachedir: join(folder, "cache"),
    sock_dir: join(folder, "run"),
    id: "host_master",
    hash_type: "sha256" as const,
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "saltworks-keys-"));
    admin = new KeyAdmin(config());
    put("minions", "es1", "es2");
    put("minions_pre", "app2", "App1", ".hidden", "10.40.0.21");
    put("minions_rejected", "old1");
    put("minions_denied", "es1");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("lists the states in Salt's order, ids without regard to case", () => {
    assert.deepEqual(
      [...admin.list()].map(([state, ids]) => [stateName(state), ids]),
      [
        ["minions", ["es1", "es2"]],
        ["minions_pre", ["10.40.0.21", "App1", "app2"]],
        ["minions_rejected", ["old1"]],
        ["minions_denied", ["es1"]],
      ],
    );
    assert.deepEqual(admin.list(statesNamed("un")), new Map([["pending", ["10.40.0.21", "App1", "app2"]]]));
    assert.deepEqual(
      ["acc", "pre", "rejected", "den", "all"].map((word) => statesNamed(word).length),
      [1, 1, 1, 1, 4],
    );
    assert.throws(() => statesNamed("bogus"), { code: "USAGE" });
  });

  it("finds keys by glob, with regard to case, and by several globs", () => {
    assert.deepEqual(
      admin.match("es*"),
      new Map([
        ["accepted", ["es1", "es2"]],
        ["denied", ["es1"]],
      ]),
    );
    assert.deepEqual(admin.match("app?"), new Map([["pending", ["app2"]]]));
    assert.deepEqual(
      admin.match("old1,App1"),
      new Map([
        ["pending", ["App1"]],
        ["rejected", ["old1"]],
      ]),
    );
    assert.equal(admin.match("nosuch").size, 0);
  });

  it("accepts a pending key by moving it, and one that is denied over the one it differs from", async () => {
    writeFileSync(join(folder, "pki/minions/es1"), "other");
    assert.deepEqual(await admin.apply("accept", admin.match("app2"), { isRotating: true }), []);
    await admin.apply("accept", new Map([["denied", ["es1"]]]), { isRotating: true });
    assert.ok(has("minions", "app2") && !has("minions_pre", "app2") && !has("minions_denied", "es1"));
    assert.equal(readFileSync(join(folder, "pki/minions/es1"), "utf8"), pem);
    assert.ok(!existsSync(join(folder, "cache/.dfn")), "accepting asks for no new AES key");
    assert.deepEqual(admin.whereabouts(new Map([["pending", ["app2"]]])), new Map([["accepted", ["app2"]]]));
  });

  it("leaves a key that cannot be used where it is, and names it", async () => {
    writeFileSync(join(folder, "pki/minions_pre/app2"), "no key");
    assert.deepEqual(await admin.apply("accept", admin.match("app*"), { isRotating: true }), ["app2"]);
    assert.ok(has("minions_pre", "app2") && !has("minions", "app2"));
  });

  it("rejects and deletes, and asks the master for a new AES key with the dropfile it honours", async () => {
    await admin.apply("reject", admin.match("es2"), { isRotating: false });
    assert.ok(has("minions_rejected", "es2") && !has("minions", "es2"));
    assert.ok(!existsSync(join(folder, "cache/.dfn")));
    await admin.apply("delete", admin.match("es*"), { isRotating: true });
    assert.ok(!has("minions", "es1") && !has("minions_denied", "es1") && !has("minions_rejected", "es2"));
    assert.equal(readFileSync(join(folder, "cache/.dfn"), "utf8"), "host_master");
    assert.equal(statSync(join(folder, "cache/.dfn")).mode & 0o777, 0o400);
  });

  it("tells a running master's event bus what was done", async () => {
    const events: unknown[] = [];
    let wake: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      wake = resolve;
    });
    mkdirSync(join(folder, "run"));
    const bus = await EventStreamServer.listen({
      pubPath: join(folder, "run/master_event_pub.ipc"),
      pullPath: join(folder, "run/master_event_pull.ipc"),
      pubMode: 0o600,
      pullMode: 0o600,
      subscriberBytesMax: 1_000,
      onEvent: (body) => {
        const { tag, data } = decodeEvent(body);
        events.push([tag, data.get("result"), data.get("act"), data.get("id")]);
        if (events.length === 2) wake();
      },
    });
    await admin.apply("delete", admin.match("es1"), { isRotating: true });
    await both;
    assert.deepEqual(events, [
      ["salt/key", true, "delete", "es1"],
      ["salt/key", true, "delete", "es1"],
    ]);
    await bus.close();
  });

  it("gives texts and fingerprints by state, and those of the master's own files", () => {
    writeFileSync(join(folder, "pki/master.pub"), pem);
    writeFileSync(join(folder, "pki/other.txt"), "nothing");
    assert.deepEqual(admin.texts(admin.match("es2")), new Map([["accepted", new Map([["es2", pem]])]]));
    const hash = fingerprint(pem);
    assert.deepEqual(admin.fingerprints(admin.match("old1")), new Map([["rejected", new Map([["old1", hash]])]]));
    assert.deepEqual(admin.localFingerprints("*"), new Map([["master.pub", hash]]));
    assert.deepEqual(admin.localFingerprints("es1"), new Map());
  });

  it("notices a missing key directory", async () => {
    assert.ok(admin.isThere);
    assert.ok(!new KeyAdmin({ ...config(), pki_dir: join(folder, "nowhere") }).isThere);
  });
});
