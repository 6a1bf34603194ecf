import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Keys } from "../../../bench/fleet/handshake.ts";
import { openReply, type Sender, sealRequest } from "../../../bench/fleet/sealed-request.ts";
import { compileFloor, startFloor } from "../../../bench/peers/floor.ts";
import type { MasterUnderTest } from "../../../bench/scenarios/setup/master-contract.ts";
import { Crypticle, generateKeyString } from "../../../src/crypto/crypticle.ts";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { badLoad } from "../../../src/wire/reply.ts";
import { readEnvelope } from "../../../src/wire/request.ts";

const compiled = compileFloor();
const lacks = "missing" in compiled ? `the floor cannot be compiled: ${compiled.missing}` : false;

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });

function senderOf(id: string): Sender {
  return { id, key: { privateKey, publicPem: "" }, token: Buffer.alloc(256, 7), version: 3 };
}

function keysOf(text: string): Keys {
  const key = { text, crypticle: new Crypticle(text) };
  return { aes: key, requestKey: key, publishPort: 0 };
}

const load = (id: string, value: string) => ({
  cmd: "_return",
  id,
  success: true,
  return: value,
  retcode: 0,
  jid: "20261121090000000000",
  fun: "test.echo",
  fun_args: [value, 1, -1, 2 ** 40, 1.5, null, [[], {}], { deep: [{ er: new Uint8Array(300) }] }],
});

describe("the floor in C", { skip: lacks }, () => {
  let floor: MasterUnderTest;
  let keys: Keys;
  let channel: RequestChannel;

  before(async () => {
    floor = await startFloor();
    keys = keysOf(floor.sessionKey ?? "");
    const endpoint = `tcp://127.0.0.1:${floor.requestPort}`;
    channel = new RequestChannel({ endpoint, timeoutMs: 5_000, tries: 1 });
  });
  after(async () => {
    channel?.close();
    await floor?.remove();
  });

  it("answers returns of any size so that a simulated minion opens the reply", async () => {
    for (const bytes of [0, 1, 15, 16, 31, 32, 255, 300, 70_000]) {
      for (const id of ["sim-1", "sim-2"]) {
        const sender = senderOf(id);
        const { frame, nonce } = sealRequest(load(id, "x".repeat(bytes)), sender, keys);
        assert.equal(openReply(await channel.request(frame), nonce, sender, keys), null);
      }
    }
  });

  it("refuses whatever a master refuses with bad load, and goes on", async () => {
    const sender = senderOf("sim-3");
    const { frame } = sealRequest(load("sim-3", "value"), sender, keys);
    const cipherStart = frame.indexOf(readEnvelope(frame).load);
    const isRefused = async (bytes: Uint8Array) => assert.deepEqual(await channel.request(bytes), badLoad);
    for (const offset of [0, 16, 100, readEnvelope(frame).load.length - 1]) {
      const changed = Buffer.from(frame);
      changed[cipherStart + offset] = (changed[cipherStart + offset] ?? 0) ^ 1;
      await isRefused(changed);
    }
    for (let end = 0; end < frame.length; end += 7) await isRefused(frame.subarray(0, end));
    await isRefused(sealRequest(load("sim-3", "value"), sender, keysOf(generateKeyString())).frame);
    await isRefused(sealRequest(load("another", "value"), sender, keys).frame);
    await isRefused(sealRequest(load("sim-3", "value"), { ...sender, version: 2 }, keys).frame);
    await isRefused(encode({ enc: "clear", load: { cmd: "ping" }, version: 3 }, "raw"));
    await isRefused(Buffer.alloc(1_000, 0x91));
    const good = sealRequest(load("sim-3", "value"), sender, keys);
    assert.equal(openReply(await channel.request(good.frame), good.nonce, sender, keys), null);
  });

  it("says which libraries it was linked with, and comes back on its port", async () => {
    assert.match(floor.version, /^libzmq \d+\.\d+\.\d+, OpenSSL 3\./);
    const { processId, requestPort } = floor;
    await floor.restart();
    assert.notEqual(floor.processId, processId);
    assert.equal(floor.requestPort, requestPort);
  });
});

describe("the floor's key file", { skip: lacks }, () => {
  const directory = mkdtempSync(join(tmpdir(), "sw-floor-keys-"));
  after(() => rmSync(directory, { recursive: true }));

  const key = generateKeyString();
  const faults: readonly [string, string, RegExp][] = [
    ["is empty", "", /: no session keys/],
    ["has a line without key", `sim-1 ${key}\nsim-2\n`, /:2: expected `id keystring`/],
    ["has a key of another length", `sim-1 ${key.slice(4)}\n`, /:1: not a session key string/],
    ["has a key that is not Base64", `sim-1 ${"!".repeat(75)}=\n`, /:1: not a session key string/],
    ["has an id twice", `sim-1 ${key}\nsim-1 ${key}\n`, /:2: sim-1 stands there twice/],
  ];
  const run = (path: string) => spawnSync("program" in compiled ? compiled.program : "", [path], { encoding: "utf8" });

  for (const [what, text, expected] of faults) {
    it(`is refused with its line when it ${what}, and no key is printed`, () => {
      const path = join(directory, "keys");
      writeFileSync(path, text);
      const { status, stderr, stdout } = run(path);
      assert.equal(status, 2);
      assert.match(stderr, expected);
      assert.equal(stdout, "");
      assert.ok(!stderr.includes(key));
    });
  }

  it("is named when it is not there", () => {
    const { status, stderr } = run(join(directory, "absent"));
    assert.equal(status, 2);
    assert.match(stderr, /absent: No such file/);
  });
});

describe("compileFloor", () => {
  it("names what is missing without a compiler", () => {
    assert.deepEqual(compileFloor("no-such-compiler"), { missing: "no C compiler (no-such-compiler)" });
  });
});
