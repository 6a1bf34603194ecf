/** A small master for the minion's tests: real sockets and keys, answers that a test sets, every request kept. */
import { createHash, type KeyObject } from "node:crypto";
import { Router, XPublisher } from "zeromq";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";
import { generateKeyPair, loadPrivateKey, loadPublicKey } from "../../src/crypto/pem.ts";
import { decryptOaep, type EncAlgorithm, encryptOaep, type SigAlgorithm, sign } from "../../src/crypto/rsa.ts";
import { signX931 } from "../../src/crypto/x931.ts";
import { bytesField, textField } from "../../src/wire/fields.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { encodePublish } from "../../src/wire/publish.ts";
import {
  badLoad,
  encodeAuthAccepted,
  encodeAuthVerdict,
  encodeClearReply,
  encodePrivateData,
  encodePrivateReply,
  encodePrivateSigned,
  encodeRawReply,
  encodeSignedReply,
} from "../../src/wire/reply.ts";
import { readEnvelope } from "../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";

export type Received = { readonly cmd: string; readonly version: number; readonly load: ValueMap };
export type MasterKeys = { readonly privateKey: KeyObject; readonly publicPem: string };

/** 1,024 bits are quick to make, and OAEP with SHA-1 still holds a key string. */
export async function makeMasterKeys(bits = 1_024): Promise<MasterKeys> {
  const pair = await generateKeyPair(bits);
  return { privateKey: loadPrivateKey(pair.privatePem), publicPem: pair.publicPem.trim() };
}

type Verdict = "accept" | boolean | "full" | "bad enc algo";

/** A minion on a busy machine takes ten seconds to start the processes of its first two jobs. */
const answerTimeoutMs = 60_000;

export class FakeMaster {
  readonly requests: Received[] = [];
  readonly #router: Router;
  readonly #publisher: XPublisher;
  readonly #watchers = new Set<() => void>();
  readonly #sessions = new Map<string, string>();
  #subscriptionCount = 0;
  keys: MasterKeys;
  aes = generateKeyString();
  serial = 0;
  /** Answers to the next authentications; the last one repeats. */
  verdicts: Verdict[] = ["accept"];
  /** Changes members of an acceptance before it is signed. */
  tamper: ((accepted: Parameters<typeof encodeAuthAccepted>[0]) => void) | undefined;
  /** Signs authentication replies in place of the master's own key. */
  replySigner: KeyObject | undefined;
  /** Answers by command, `null` unless set; a function gets the load. */
  readonly answers = new Map<string, Encodable | ((load: ValueMap) => Encodable)>();
  /** Commands that get no reply. */
  readonly silent = new Set<string>();
  /** Commands whose first request is answered `bad load`. */
  readonly refuseOnce: string[] = [];
  /** Its `minimum_auth_version`. */
  versionMin = 0;
  encAlgorithm: EncAlgorithm = "OAEP-SHA1";
  sigAlgorithm: SigAlgorithm = "PKCS1v15-SHA1";
  pubSigner: KeyObject | undefined;
  /** Encrypts pillars for this key in place of the minion's. */
  pillarKey: KeyObject | undefined;

  private constructor(router: Router, publisher: XPublisher, keys: MasterKeys) {
    this.#router = router;
    this.#publisher = publisher;
    this.keys = keys;
  }

  static async open(keys?: MasterKeys): Promise<FakeMaster> {
    const router = new Router({ linger: 0 });
    const publisher = new XPublisher({ linger: 0 });
    await router.bind("tcp://127.0.0.1:*");
    await publisher.bind("tcp://127.0.0.1:*");
    const master = new FakeMaster(router, publisher, keys ?? (await makeMasterKeys()));
    void master.#serve();
    void master.#watchSubscriptions();
    return master;
  }

  get port(): number {
    return portOf(this.#router.lastEndpoint);
  }

  get publishPort(): number {
    return portOf(this.#publisher.lastEndpoint);
  }

  close(): void {
    this.#router.close();
    this.#publisher.close();
  }

  /** Makes a new AES key: data sealed under the old one no longer opens. */
  rotate(): void {
    this.aes = generateKeyString();
    this.serial = 0;
    this.#sessions.clear();
  }

  sealPublish(load: { readonly [key: string]: Encodable }, isSigned = true): Buffer {
    this.serial += 1;
    const sealed = new Crypticle(this.aes).seal(encode({ serial: this.serial, ...load }, "raw"));
    const signature = { sigAlgorithm: this.sigAlgorithm, sig: sign(this.keys.privateKey, sealed, this.sigAlgorithm) };
    return encodePublish({ load: sealed, ...(isSigned ? signature : {}) });
  }

  /** Resolves after this many subscriptions. Later publishes arrive; earlier ones are not repeated. */
  async subscribed(count = 1, timeoutMs = answerTimeoutMs): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (this.#subscriptionCount < count) {
      if (Date.now() >= deadline) throw new Error(`${this.#subscriptionCount} subscriptions, not ${count}`);
      await this.#change(deadline - Date.now());
    }
  }

  async #watchSubscriptions(): Promise<void> {
    for await (const [message] of this.#publisher) {
      if (message?.[0] === 1) this.#subscriptionCount += 1;
      for (const watcher of [...this.#watchers]) watcher();
    }
  }

  async publish(load: { readonly [key: string]: Encodable }): Promise<void> {
    await this.#publisher.send(this.sealPublish(load));
  }

  async sendFrames(...frames: (string | Uint8Array)[]): Promise<void> {
    await this.#publisher.send(frames.map((frame) => (typeof frame === "string" ? frame : Buffer.from(frame))));
  }

  /** The request number `count` (from 1) with this command. */
  async received(cmd: string, count = 1, timeoutMs = answerTimeoutMs): Promise<Received> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.requests.filter((request) => request.cmd === cmd)[count - 1];
      if (found !== undefined) return found;
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw new Error(`no ${cmd} number ${count}; there were ${this.requests.map(({ cmd }) => cmd)}`);
      await this.#change(leftMs);
    }
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#watchers.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#watchers.add(done);
    });
  }

  async #serve(): Promise<void> {
    for await (const [identity, empty, frame] of this.#router) {
      if (identity === undefined || empty === undefined || frame === undefined) continue;
      const reply = this.#answer(frame);
      for (const watcher of [...this.#watchers]) watcher();
      if (reply !== undefined) await this.#router.send([identity, empty, reply]);
    }
  }

  #answer(frame: Buffer): Uint8Array | undefined {
    const envelope = readEnvelope(frame);
    if (envelope.version < this.versionMin) return badLoad;
    if (envelope.enc === "clear")
      return this.#answerAuth(mapOf(decode(envelope.load)), envelope.load, envelope.version);
    const seal = new Crypticle(this.#keyOf(envelope.version, envelope.id));
    let load: ValueMap;
    try {
      load = mapOf(decode(seal.open(envelope.load)));
    } catch {
      this.requests.push({ cmd: "unreadable", version: envelope.version, load: new Map() });
      return badLoad;
    }
    const cmd = textField(load, "cmd") ?? "";
    this.requests.push({ cmd, version: envelope.version, load });
    if (this.silent.has(cmd)) return undefined;
    const refused = this.refuseOnce.indexOf(cmd);
    if (refused >= 0) {
      this.refuseOnce.splice(refused, 1);
      return badLoad;
    }
    const answer = this.answers.get(cmd) ?? null;
    const value = typeof answer === "function" ? answer(load) : answer;
    const nonce = textField(load, "nonce") ?? "";
    if (cmd === "_pillar") return this.#sealPillar(value ?? new Map(), load, envelope.version);
    return encodeRawReply(seal.seal(encode(value, "raw"), envelope.version < 2 ? "" : nonce));
  }

  #keyOf(version: number, id: string | undefined): string {
    return version < 3 ? this.aes : (this.#sessions.get(id ?? "") ?? generateKeyString());
  }

  #minionKey: KeyObject | undefined;

  #sealPillar(pillar: Encodable, load: ValueMap, version: number): Uint8Array {
    const keyString = generateKeyString();
    const key = encryptOaep(this.pillarKey ?? this.#knownMinionKey(), Buffer.from(keyString), this.encAlgorithm);
    const seal = new Crypticle(keyString);
    if (version < 2) return encodePrivateReply({ key, pillar: seal.seal(encode(pillar, "raw")) });
    const data = encodePrivateData({ key, pillar: encode(pillar, "raw"), nonce: textField(load, "nonce") ?? "" });
    const sig = sign(this.replySigner ?? this.keys.privateKey, data, this.sigAlgorithm);
    return encodePrivateReply({ key, pillar: seal.seal(encodePrivateSigned(data, sig)) });
  }

  #knownMinionKey(): KeyObject {
    if (this.#minionKey === undefined) throw new Error("a pillar request before any authentication");
    return this.#minionKey;
  }

  #answerAuth(load: ValueMap, packed: Uint8Array, version: number): Uint8Array | undefined {
    this.requests.push({ cmd: "_auth", version, load });
    if (this.silent.has("_auth")) return undefined;
    const nonce = textField(load, "nonce") ?? "";
    const verdict = this.verdicts.length > 1 ? this.verdicts.shift() : this.verdicts[0];
    if (verdict === "bad enc algo") return encodeClearReply({ ret: verdict });
    if (verdict === undefined || verdict !== "accept") {
      if (version < 2) return encodeClearReply({ ret: verdict });
      return this.#signed(encodeAuthVerdict(verdict ?? true, nonce));
    }
    const accepted = this.#acceptance(load, mapOf(decode(packed, "bytes")), version);
    return version < 2 ? encodeAuthAccepted(accepted) : this.#signed(encodeAuthAccepted({ ...accepted, nonce }));
  }

  #acceptance(load: ValueMap, loadBytes: ValueMap, version: number): Parameters<typeof encodeAuthAccepted>[0] {
    const minionKey = loadPublicKey(textField(load, "pub") ?? "");
    this.#minionKey = minionKey;
    const id = textField(load, "id") ?? "";
    const session = this.#sessions.get(id) ?? generateKeyString();
    this.#sessions.set(id, session);
    const seal = (text: Uint8Array | string) => encryptOaep(minionKey, Buffer.from(text), this.encAlgorithm);
    const challenge = bytesField(loadBytes, "token");
    const accepted: Parameters<typeof encodeAuthAccepted>[0] = {
      pubKey: this.keys.publicPem,
      publishPort: this.publishPort,
      aes: seal(this.aes),
      sig: signX931(this.keys.privateKey, Buffer.from(createHash("sha256").update(this.aes).digest("hex"))),
    };
    if (version >= 3) accepted.session = seal(session);
    if (challenge !== undefined) accepted.token = seal(this.#openChallenge(challenge));
    if (this.pubSigner !== undefined) {
      const signature = sign(this.pubSigner, Buffer.from(this.keys.publicPem), this.sigAlgorithm);
      accepted.pubSig = `${signature.toString("base64")}\n`;
    }
    this.tamper?.(accepted);
    return accepted;
  }

  /** Salt's master does not send back what it cannot decrypt; here it sends random bytes instead. */
  #openChallenge(challenge: Uint8Array): Uint8Array {
    try {
      return decryptOaep(this.keys.privateKey, challenge, this.encAlgorithm);
    } catch {
      return Buffer.from("not the challenge");
    }
  }

  #signed(load: Buffer): Buffer {
    return encodeSignedReply(load, sign(this.replySigner ?? this.keys.privateKey, load, this.sigAlgorithm));
  }
}

function portOf(endpoint: string | null): number {
  return Number(endpoint?.split(":").at(-1));
}

function mapOf(value: unknown): ValueMap {
  if (value instanceof Map) return value;
  throw new Error("not a map");
}
