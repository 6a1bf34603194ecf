/**
 * The state of one worker thread for its partitions: session keys, public keys, verified tokens, facts.
 * The worker can rebuild all of it from its stores. No other thread shares it.
 */
import type { KeyObject } from "node:crypto";
import { Crypticle, generateKeyString } from "../../crypto/crypticle.ts";
import { cleanPem, loadPublicKey } from "../../crypto/pem.ts";
import { hasCode } from "../../errors.ts";
import { noCacheJobsMax } from "../../limits.ts";
import type { JobCacheWriter } from "../../store/jobs/job-cache.ts";
import type { KeyDirectories } from "../../store/keys/keys.ts";
import type { MinionData } from "../../store/minions/data.ts";
import { hasMinionFiles } from "../../store/salt/minion-files.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { isTokenKept, tokenDirectory } from "../../store/secrets/tokens.ts";
import { type Nodegroups, readNodegroups } from "../../target/nodegroups.ts";
import { jidAt } from "../../wire/jid.ts";
import { BatchMeter } from "../measures/measures.ts";
import type { SealKey } from "../messages/deferred.ts";
import type { MasterKeys, WorkerStart } from "../messages/worker.ts";
import { Partitioner } from "../threads/partition.ts";
import type { ClusterReturns } from "./cluster-returns.ts";
import { derivedSessions } from "./derived-sessions.ts";
import { MinionFacts } from "./facts.ts";
import { FileEpoch } from "./file-epoch.ts";
import { KeptFileAnswers } from "./kept-file-answers.ts";
import { keepPresencePing } from "./presence-pings.ts";
import { openSession, type SessionRecord, sealSession, sessionKeyName } from "./session-record.ts";
import { UnprovenKeys } from "./unproven-keys.ts";

export type Session = SessionRecord & { readonly crypticle: Crypticle };

/** `token`: the `tok` that was verified under `acceptedPem`. Once it is known, `acceptedKey` is dropped. */
type MinionState = {
  session: Session | undefined;
  acceptedPem: string | undefined;
  /** Stamp of the file that `acceptedPem` was read from. */
  acceptedStamp: string | undefined;
  acceptedKey: KeyObject | undefined;
  token: Uint8Array | undefined;
  /** The stored session was issued under another public key. */
  isSessionForeign: boolean;
};

export type WorkerStores = {
  readonly jobs: JobCacheWriter;
  readonly minions: MinionData;
  readonly keys: KeyDirectories;
  readonly box: SecretBox;
};

export class WorkerState {
  readonly start: WorkerStart;
  readonly stores: WorkerStores;
  /** Undefined without a cluster. */
  readonly cluster: ClusterReturns | undefined;
  readonly counters: Record<string, number> = {};
  readonly meter = new BatchMeter();
  readonly partitioner: Partitioner;
  readonly facts: MinionFacts;
  readonly nodegroups: Nodegroups;
  readonly unprovenKeys: UnprovenKeys;
  readonly fileEpoch: FileEpoch;
  readonly fileAnswers: KeptFileAnswers;
  slot = 0;
  current: Crypticle;
  /** `untilSteadyMs`: a time of `performance.now()`, which is monotonic. */
  former: { readonly crypticle: Crypticle; readonly untilSteadyMs: number } | undefined;
  masterKeys: MasterKeys;
  readonly #minions = new Map<string, MinionState>();
  /** Ids whose stored session is being removed. The store still has it. */
  readonly #dropping = new Set<string>();
  /** Jobs whose returns are not stored, oldest first. */
  readonly #noCacheJids = new Set<string>();
  #lastJidMicros = 0;

  constructor(start: WorkerStart, stores: WorkerStores, cluster?: ClusterReturns) {
    this.start = start;
    this.cluster = cluster;
    this.stores = stores;
    this.partitioner = new Partitioner(start.partitionKey, start.config.partitions);
    this.facts = new MinionFacts(stores.minions, (name) => this.count(name));
    this.nodegroups = readNodegroups(start.config.nodegroups);
    this.unprovenKeys = new UnprovenKeys(start.keyCounts, stores.keys, start.config.pending_keys_max);
    this.fileEpoch = new FileEpoch(start.fileEpoch);
    this.fileAnswers = new KeptFileAnswers(this.fileEpoch);
    this.masterKeys = start.keys;
    this.current = new Crypticle(start.keys.aes);
    this.useMasterKeys(start.keys);
  }

  count(name: string, by = 1): void {
    this.counters[name] = (this.counters[name] ?? 0) + by;
  }

  useMasterKeys(keys: MasterKeys): void {
    this.masterKeys = keys;
    this.current = new Crypticle(keys.aes);
    // Bounded by `rotation_grace`, because the clock may have been set back or the option lowered.
    const leftMs = Math.min((keys.former?.untilMs ?? 0) - Date.now(), this.start.config.rotation_grace * 1_000);
    const untilSteadyMs = performance.now() + leftMs;
    this.former = keys.former && { crypticle: new Crypticle(keys.former.key), untilSteadyMs };
  }

  /** The crypticle for requests of version 0 and 2. Undefined for the former key once its grace period is over. */
  masterCrypticle(sealKey: SealKey): Crypticle | undefined {
    if (sealKey === "current") return this.current;
    return this.former !== undefined && performance.now() < this.former.untilSteadyMs
      ? this.former.crypticle
      : undefined;
  }

  owns(id: string): boolean {
    return this.partitioner.slotOf(id, this.start.slotCount) === this.slot;
  }

  isAccepted(id: string): boolean {
    return this.start.accepted.has(id);
  }

  /** The text of the accepted public key, from memory or the key directory. Undefined without a usable key. */
  acceptedPem(id: string): string | undefined {
    if (!this.isAccepted(id)) return undefined;
    const state = this.#state(id);
    if (state.acceptedPem === undefined) {
      state.acceptedStamp = this.stores.keys.stampOf("accepted", id);
      const pem = this.stores.keys.read("accepted", id);
      state.acceptedKey = pem === undefined ? undefined : usableKey(pem);
      if (state.acceptedKey === undefined) return undefined;
      state.acceptedPem = pem;
    }
    return state.acceptedPem;
  }

  /** The text of the accepted key in the key directory now. Reads the file only if its stamp has changed. */
  acceptedPemNow(id: string): string | undefined {
    const stamp = this.stores.keys.stampOf("accepted", id);
    if (stamp === undefined) return undefined;
    const state = this.#minions.get(id);
    const isServed = state?.acceptedPem !== undefined && this.isAccepted(id);
    if (isServed && state.acceptedStamp === stamp) return state.acceptedPem;
    const pem = this.stores.keys.read("accepted", id);
    if (isServed && state.acceptedPem === pem) state.acceptedStamp = stamp;
    return pem;
  }

  /** The accepted key, to verify a token. */
  acceptedKey(id: string): KeyObject | undefined {
    const pem = this.acceptedPem(id);
    return pem === undefined ? undefined : (this.#state(id).acceptedKey ?? usableKey(pem));
  }

  /** The `tok` that was verified under the accepted key. */
  verifiedToken(id: string): Uint8Array | undefined {
    return this.isAccepted(id) ? this.#minions.get(id)?.token : undefined;
  }

  /** Keeps a token that was verified under `acceptedPem`. */
  keepToken(id: string, token: Uint8Array): void {
    const state = this.#state(id);
    state.token = Uint8Array.from(token);
    state.acceptedKey = undefined;
  }

  /** The minion's latest session, from memory or the store. */
  session(id: string): Session | undefined {
    if (!this.isAccepted(id)) return undefined;
    const state = this.#state(id);
    if (state.session === undefined && !state.isSessionForeign && !this.#dropping.has(id)) {
      const sealed = this.stores.minions.getSession(id);
      if (sealed === undefined) return undefined;
      const record = openSession(this.stores.box, id, sealed);
      if (record === undefined) return undefined;
      state.session = { ...record, crypticle: new Crypticle(record.keyString) };
    }
    return state.session;
  }

  /** The sessions that other members of the cluster may have given to the minion. */
  *sharedSessions(id: string, nowMs: number): Generator<Session> {
    const present = this.#minions.get(id)?.session?.keyString;
    for (const record of this.#derived(id, nowMs))
      if (record.keyString !== present) yield { ...record, crypticle: new Crypticle(record.keyString) };
  }

  /** Takes a session that a minion proved to have: replies to later requests are sealed under it. */
  useSession(id: string, session: Session): void {
    const state = this.#state(id);
    state.session = session;
    state.isSessionForeign = false;
  }

  #derived(id: string, nowMs: number): readonly SessionRecord[] {
    const { clusterSessionKey: secret, config } = this.start;
    const pem = secret === undefined ? undefined : this.acceptedPem(id);
    if (secret === undefined || pem === undefined) return [];
    return derivedSessions(secret, { id, minionKey: sessionKeyName(pem) }, config.publish_session * 1_000, nowMs);
  }

  /** The session for an `_auth`: the present one, or a new one if that has expired. `stored`: settles when the session is written. */
  issueSession(id: string, nowMs: number): { readonly session: Session; readonly stored: Promise<void> | undefined } {
    const present = this.session(id);
    const state = this.#state(id);
    const minionKey = state.acceptedPem === undefined ? undefined : sessionKeyName(state.acceptedPem);
    // If the key was replaced while no master ran, the holder of the former key knows the session.
    const isOwn = present?.minionKey === undefined || present.minionKey === minionKey;
    const [shared] = this.#derived(id, nowMs);
    const isLatest = shared === undefined || shared.keyString === present?.keyString;
    const isGood = present !== undefined && isOwn && isLatest && !this.isExpired(present, nowMs);
    // A record of an earlier release lacks `minionKey`, so it is stored once more.
    if (isGood && present.minionKey !== undefined) return { session: present, stored: undefined };
    const made = shared ?? { keyString: generateKeyString(), createdMs: nowMs };
    const { keyString, createdMs } = isGood ? present : made;
    const crypticle = isGood ? present.crypticle : new Crypticle(keyString);
    const session = { keyString, crypticle, createdMs, minionKey };
    state.session = session;
    state.isSessionForeign = false;
    const sealed = sealSession(this.stores.box, id, session);
    const stored = this.stores.minions.putSession(id, sealed).catch((error: Error) => {
      // If the session stayed in memory, the next `_auth` would get one that is not stored.
      if (state.session === session) state.session = undefined;
      throw error;
    });
    return { session, stored };
  }

  /** Frees the ciphers of sessions that were not used since the last call. @returns the number of these sessions */
  restSessions(): number {
    let count = 0;
    for (const { session } of this.#minions.values()) if (session?.crypticle.rest() === true) count += 1;
    return count;
  }

  isExpired(session: Session, nowMs: number): boolean {
    return nowMs - session.createdMs > this.start.config.publish_session * 1_000;
  }

  /** Notes a presence ping. Its returns prove presence and are not stored. */
  notePresencePing(jid: string): void {
    keepPresencePing(this.start, jid);
  }

  /** Whether the token directory has this token of external authentication. Only the main thread checks the token's contents. */
  knowsToken(token: string): boolean {
    return isTokenKept(tokenDirectory(this.start.config.cachedir), token);
  }

  /** Notes a job whose returns are not stored. */
  noteNoCache(jid: string): void {
    this.#noCacheJids.add(jid);
    const [oldest] = this.#noCacheJids;
    if (this.#noCacheJids.size > noCacheJobsMax && oldest !== undefined) this.#noCacheJids.delete(oldest);
  }

  isNoCache(jid: string): boolean {
    return this.#noCacheJids.has(jid);
  }

  isPresencePing(jid: string): boolean {
    return this.start.presencePings.includes(jid);
  }

  /** Makes an id for a job that a minion started by itself. It is later than this worker's earlier ids and differs from those of other workers. */
  newJid(nowMs: number): string {
    const { slotCount } = this.start;
    const next = Math.max(nowMs * 1_000, this.#lastJidMicros + 1);
    this.#lastJidMicros = next + ((this.slot - (next % slotCount) + slotCount) % slotCount);
    return jidAt(Math.floor(this.#lastJidMicros / 1_000), this.#lastJidMicros % 1_000);
  }

  /** Notes that the key `pem` is accepted for the id. Drops the token and the session of another key. */
  accept(id: string, pem: string): void {
    this.start.accepted.add(id);
    this.facts.accept(id);
    const state = this.#state(id);
    const former = state.acceptedPem;
    if (former === pem) return;
    state.acceptedPem = pem;
    state.acceptedStamp = undefined;
    state.acceptedKey = undefined;
    if (former === undefined) return;
    state.token = undefined;
    if (cleanPem(former) === cleanPem(pem)) return;
    state.session = undefined;
    state.isSessionForeign = true;
  }

  /** Whether the id's key is still `pem`, neither removed nor replaced since `accept`. */
  isServed(id: string, pem: string): boolean {
    return this.isAccepted(id) && this.#minions.get(id)?.acceptedPem === pem;
  }

  /**
   * Whether the key file differs from the key in use. If the worker has not read the minion's key since its start, the
   * key in use is that of the stored session.
   */
  isReplaced(id: string): boolean {
    const served = this.#minions.get(id)?.acceptedPem;
    const session = served === undefined ? this.session(id) : undefined;
    if (served === undefined && session === undefined) return false;
    const pem = this.stores.keys.read("accepted", id);
    if (pem === undefined) return false;
    return served === undefined ? session?.minionKey !== sessionKeyName(pem) : cleanPem(pem) !== cleanPem(served);
  }

  /** Called when the key was removed or replaced: drops token and session. `withData`: also grains, pillar and mine. */
  async forget(id: string, withData = false): Promise<void> {
    this.#minions.delete(id);
    this.#dropping.add(id);
    const { minions } = this.stores;
    if (withData) await this.facts.drop(id, minions.drop(id, hasMinionFiles(this.start.config.cachedir, id)));
    else await minions.dropSession(id);
    // If the store could not drop the session, the id stays in `#dropping`, so the session is never used. The next start compares its `minionKey`.
    this.#dropping.delete(id);
  }

  /** The accepted ids of this worker's partitions. */
  *ownIds(): Generator<string> {
    for (const id of this.start.accepted) if (this.owns(id)) yield id;
  }

  /** Those of `ids` that are accepted and belong to this worker, each once. */
  ownAmong(ids: readonly string[]): string[] {
    return [...new Set(ids)].filter((id) => this.start.accepted.has(id) && this.owns(id));
  }

  #state(id: string): MinionState {
    let state = this.#minions.get(id);
    if (state === undefined) {
      state = {
        session: undefined,
        acceptedPem: undefined,
        acceptedStamp: undefined,
        acceptedKey: undefined,
        token: undefined,
        isSessionForeign: false,
      };
      this.#minions.set(id, state);
    }
    return state;
  }
}

/** Loads a key. Undefined if the text is not a key, because other programs may write key files. */
function usableKey(pem: string): KeyObject | undefined {
  try {
    return loadPublicKey(pem);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_BAD_KEY")) throw error;
    return undefined;
  }
}
