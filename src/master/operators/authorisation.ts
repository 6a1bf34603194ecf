/**
 * Identifies operators, by key file, token or eauth password, and decides what they may do.
 * All clear commands pass here. Source: docs/protocol.md section 7.2, docs/external-auth.md.
 */
import type { Logger } from "pino";
import { backendConfig, grantsOfUser, needsKeptGrants } from "../../config/external-auth.ts";
import type { MasterConfig } from "../../config/load.ts";
import { type ConfigMap, type ConfigValue, isConfigMap } from "../../config/yaml/values.ts";
import { hasCode } from "../../errors.ts";
import { Tokens, tokenDirectory } from "../../store/secrets/tokens.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { decode } from "../../wire/msgpack.ts";
import { type Encodable, Float, type Value, type ValueMap } from "../../wire/values.ts";
import type { CredentialTask } from "../../workers/credentials/contract/credential.ts";
import type { Caller } from "../../workers/messages/deferred.ts";
import { RefusalLog } from "../log/refusal-log.ts";
import type { GrantSource } from "../publish/grant-source.ts";
import type { Job } from "../publish/publisher.ts";
import type { Targets } from "../publish/targets.ts";
import type { CredentialChecks } from "./credential-checks.ts";
import { type Asker, type GrantedMinions, grantedTargets, readsPillar } from "./granted-minions.ts";
import { PeerRules } from "./peer-rules.ts";
import {
  type AskedCall,
  type Grants,
  grantsOfLocalUser,
  type IsWithin,
  isBlacklisted,
  Permissions,
} from "./permissions.ts";

export type AuthorisationOptions = {
  readonly config: Pick<
    MasterConfig,
    | "external_auth"
    | "publisher_acl"
    | "publisher_acl_blacklist"
    | "sudo_acl"
    | "token_expire"
    | "token_expire_user_override"
    | "keep_acl_in_token"
    | "permissive_acl"
    | "peer"
    | "peer_run"
    | "user"
  >;
  readonly checks: Pick<CredentialChecks, "check" | "notEnabled">;
  readonly tokens: Tokens;
  readonly targets: Pick<Targets, "written" | "expected" | "parse">;
  /** The user that published a job; undefined if the master has forgotten the job. */
  readonly ownerOf: (jid: string) => string | undefined;
  readonly logger: Pick<Logger, "warn" | "error">;
  readonly nowMs: () => number;
};

/**
 * `user`: the name that a caller acts under. `grants`: its permissions; undefined permits everything. `isNamesake`: an eauth user with the name of
 * the master's own user, which does not own that user's jobs. `source`: the origin of the grants.
 */
export type Identity = {
  readonly user: string;
  readonly grants: Grants | undefined;
  readonly isNamesake?: boolean;
  readonly source?: GrantSource;
};
/** The parts of a job that decide whether it is permitted. */
type AskedJob = Pick<Job, "fun" | "arg"> & AskedTarget;

/** Wheel functions by which clients follow their own jobs. The functions check the job's owner. Grants do not extend them to other users' jobs. */
export const followFunctions: ReadonlySet<string> = new Set([
  "saltworks.returns",
  "saltworks.batch",
  "saltworks.job_end",
]);
/** Runner functions that a user may call about its own jobs without a grant. They check the job's owner. */
const ownJobFunctions: ReadonlySet<string> = new Set(["jobs.minions"]);
const targetFunction = "saltworks.match_target";
/** Functions that only the master itself may call. */
const innerFunctions: ReadonlySet<string> = new Set(["saltworks.retcodes", "saltworks.peer_returns"]);
/** Clients follow jobs by it. A user may ask it about its own jobs, of all minions that it may publish to. */
const findJob = "saltutil.find_job";
/** The only eauth system whose users are the users of this machine. */
const systemBackend = "pam";

/** Makes the authorisation from the master's parts. */
export function authorisationOf(
  { config, logger }: { readonly config: MasterConfig; readonly logger: Logger },
  targets: Targets,
  checks: CredentialChecks,
  ownerOf: AuthorisationOptions["ownerOf"],
): Authorisation {
  const isMember = (config.cluster_id ?? "") !== "";
  const tokens = new Tokens(tokenDirectory(config.cachedir), config.hash_type, isMember);
  return new Authorisation({ config, checks, tokens, targets, ownerOf, logger, nowMs: Date.now });
}

export class Authorisation {
  readonly #options: AuthorisationOptions;
  readonly #permissions = new Permissions();
  readonly #refusals: RefusalLog;

  constructor(options: AuthorisationOptions) {
    this.#options = options;
    this.#refusals = new RefusalLog(options.logger, options.nowMs);
  }

  /** Issued tokens: their counters, and what a cluster shares of them. */
  get tokens(): Pick<Tokens, "counters" | "count" | "mostOfUser" | "share" | "receive" | "files"> {
    return this.#options.tokens;
  }

  /**
   * @param address of the connection
   * @returns undefined if the caller does not prove its name, or this master does not know the user
   */
  async identify(caller: Caller, address = ""): Promise<Identity | undefined> {
    if (caller.kind === "key") return this.#localUser(caller.user, caller.isMaster);
    if (caller.kind === "token") return this.#userOfToken(caller.token);
    const { eauth, username: user } = caller.credential;
    const backend = this.#backend(eauth);
    const result = backend && (await this.#options.checks.check(caller.credential, address));
    if (backend === undefined || result === undefined) return undefined;
    const grants = this.#grantsOf(backend, user, result.groups, result.grants);
    const own = result.grants === undefined ? undefined : grants;
    const source = { kind: "eauth", user, eauth, groups: result.groups, grants: own } as const;
    return { user, grants, isNamesake: this.#isNamesake(user, eauth), source };
  }

  /**
   * Whether every function of the job is granted for every target minion. `claimed`: the operating system's user, as the client names it.
   * `isHopeful`: minions without data count as covered by a grant.
   */
  async mayPublish(identity: Identity, claimed: string, job: AskedJob, isHopeful = false): Promise<boolean> {
    const { user, grants } = identity;
    const calls = callsOf(job);
    const { publisher_acl_blacklist: blacklist } = this.#options.config;
    const functions = calls.map(({ fun }) => fun);
    if (isBlacklisted(blacklist, user, functions) || isBlacklisted(blacklist, claimed, [])) return false;
    if (grants === undefined) return true;
    // Minions could read a malformed name as another function than the patterns do.
    if (!areFunctionNames(job.fun)) return false;
    const always = (await this.#mayFind(identity, job, calls)) ? new Set([findJob]) : new Set<string>();
    return await this.#permissions.mayPublish(grants, calls, this.#isWithin(job, isHopeful), always);
  }

  /** Whether the present configuration still grants a published job for these minions. `isHopeful`: as in `mayPublish`. */
  async mayStillPublish(
    source: GrantSource,
    { fun, arg }: Pick<Job, "fun" | "arg">,
    ids: readonly string[],
    isHopeful = false,
  ): Promise<boolean> {
    const identity = this.#identityOf(source);
    if (identity === undefined) return false;
    const job = { fun, arg, target: ids, targetKind: "list", delimiter: ":" };
    return await this.mayPublish(identity, identity.user, job, isHopeful);
  }

  #identityOf(source: GrantSource): Identity | undefined {
    if (source.kind === "local") return this.#localUser(source.user, source.isMaster);
    if (source.kind === "peer")
      return { user: source.user, grants: [...new PeerRules(this.#options.config).publishGrants(source.minion)] };
    const { user, eauth, groups, grants } = source;
    const backend = backendConfig(this.#options.config.external_auth, eauth);
    if (backend === undefined) return undefined;
    return { user, grants: grants ?? this.#grantsOf(backend, user, groups), isNamesake: this.#isNamesake(user, eauth) };
  }

  /** The minions that a user can see: a restricted user sees the minions that a grant lets it publish to. */
  async grantedMinionsOf({ user, grants }: Identity): Promise<GrantedMinions> {
    const targets = grants === undefined ? undefined : grantedTargets(grants);
    const isListed = isBlacklisted(this.#options.config.publisher_acl_blacklist, user, []);
    if (targets === undefined && !isListed) return "everyone";
    const ids = new Set<string>();
    for (const target of isListed ? [] : (targets ?? []))
      for (const id of await this.#idsOf({ target, targetKind: "compound", delimiter: ":" }, false)) ids.add(id);
    return ids;
  }

  /** Undefined for users without restriction. */
  askerOf(identity: Identity): Asker | undefined {
    if (identity.grants === undefined) return undefined;
    return { user: identity.user, granted: () => this.grantedMinionsOf(identity) };
  }

  /** Whether a call is granted. "own": only for the caller's own jobs. */
  mayCall(
    { grants, isNamesake }: Identity,
    kind: "runner" | "wheel",
    call: AskedCall,
  ): "granted" | "own" | "denied" | "malformed" {
    if (grants === undefined) return "granted";
    if (kind === "wheel" && call.fun === targetFunction) return "own";
    if (kind === "wheel" && followFunctions.has(call.fun)) return isNamesake === true ? "denied" : "own";
    if (kind === "wheel" && innerFunctions.has(call.fun)) return "denied";
    const decision = this.#permissions.mayCall(grants, kind, call);
    const isOwn = decision === "denied" && kind === "runner" && ownJobFunctions.has(call.fun) && isNamesake !== true;
    return isOwn ? "own" : decision;
  }

  /**
   * @returns the fields of the answer, with the token; undefined if the user does not prove the name
   * @throws SaltworksError as `Tokens.make`
   */
  async makeToken(
    credential: CredentialTask,
    expireSeconds: number | undefined,
    address = "",
  ): Promise<Map<string, Encodable> | undefined> {
    const { checks, tokens, nowMs } = this.#options;
    const { eauth, username } = credential;
    const backend = this.#backend(eauth);
    const result = backend && (await checks.check(credential, address));
    if (backend === undefined || result === undefined) return undefined;
    const start = nowMs() / 1_000;
    const fields = new Map<string, Encodable>([
      ["start", new Float(start)],
      ["expire", new Float(start + this.#lifeSeconds(credential, expireSeconds))],
      ["name", username],
      ["eauth", eauth],
    ]);
    if (this.#isKeepingGrants)
      fields.set("auth_list", this.#grantsOf(backend, username, result.groups, result.grants) as Encodable);
    if (result.groups.length > 0) fields.set("groups", result.groups);
    return tokens.make(fields);
  }

  /** The stored fields of a valid token. @throws SaltworksError STORE_FAILED */
  readToken(token: string): ValueMap | undefined {
    return this.#options.tokens.read(token, this.#options.nowMs());
  }

  /** @returns false if the token did not exist. @throws SaltworksError STORE_FAILED */
  removeToken(token: string): boolean {
    return this.#options.tokens.remove(token);
  }

  /** Removes tokens that have expired. */
  async sweep(nowMs: number): Promise<void> {
    await this.#options.tokens.sweep(nowMs);
  }

  #backend(eauth: string): ConfigMap | undefined {
    const backend = backendConfig(this.#options.config.external_auth, eauth);
    if (backend === undefined) {
      this.#options.checks.notEnabled += 1;
      this.#refusals.note({ eauth }, "an eauth system that is not enabled was asked for");
    }
    return backend;
  }

  /** The master's own user may do everything. `publisher_acl` decides about other local users, and with `sudo_acl` also about users of sudo. */
  #localUser(user: string, isMaster: boolean): Identity | undefined {
    const { publisher_acl: acl, sudo_acl: isSudoBound } = this.#options.config;
    const isBound = user.startsWith("sudo_") && isSudoBound && Object.keys(acl).length > 0;
    if (isMaster && !isBound) return { user, grants: undefined };
    const grants = grantsOfLocalUser(acl, isMaster ? user.slice("sudo_".length) : user);
    if (grants.length > 0) return { user, grants, source: { kind: "local", user, isMaster } };
    this.#refusals.note({ user }, 'Authentication failure of type "user" occurred.');
    return undefined;
  }

  #userOfToken(token: string): Identity | undefined {
    const kept = this.readToken(token);
    const [name, eauth] = [kept?.get("name"), kept?.get("eauth")];
    const backend = typeof eauth === "string" ? this.#backend(eauth) : undefined;
    if (kept === undefined || backend === undefined || typeof name !== "string") {
      this.#refusals.note({}, 'Authentication failure of type "token" occurred.');
      return undefined;
    }
    if (this.#isKeepingGrants && kept.has("auth_list")) {
      const list = plain(kept.get("auth_list") ?? []);
      const grants = Array.isArray(list) ? list : [];
      const source = { kind: "eauth", user: name, eauth: String(eauth), groups: [], grants } as const;
      return { user: name, grants, isNamesake: this.#isNamesake(name, eauth), source };
    }
    const written = kept.get("groups");
    const groups = Array.isArray(written) ? written.map(String) : [];
    const grants = this.#grantsOf(backend, name, groups);
    const source = { kind: "eauth", user: name, eauth: String(eauth), groups, grants: undefined } as const;
    return { user: name, grants, isNamesake: this.#isNamesake(name, eauth), source };
  }

  #isNamesake(user: string, eauth: unknown): boolean {
    const isMasters = user === this.#options.config.user || user === "root" || user.startsWith("sudo_");
    return isMasters && eauth !== systemBackend;
  }

  async #mayFind(identity: Identity, job: AskedJob, calls: readonly AskedCall[]): Promise<boolean> {
    const found = calls.filter(({ fun }) => fun === findJob);
    if (found.length === 0) return false;
    for (const { args } of found) {
      const owner = this.#options.ownerOf(String(args[0] ?? ""));
      if (owner !== undefined && (owner !== identity.user || identity.isNamesake === true)) return false;
    }
    const granted = await this.grantedMinionsOf(identity);
    if (granted === "everyone") return true;
    if (this.#readsPillar(job)) return false;
    const ids = await this.#idsOf(job, true);
    return ids.length > 0 && ids.every((id) => granted.has(id));
  }

  #readsPillar(target: AskedTarget): boolean {
    const { targets } = this.#options;
    try {
      return readsPillar(targets.parse(targets.written(target)));
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return true;
    }
  }

  /** The user's grants: from the backend's answer if it gives any, else from the configuration. */
  #grantsOf(backend: ConfigMap, name: string, groups: readonly string[], given?: Uint8Array): Grants {
    const list = given && plain(decode(given));
    return Array.isArray(list) ? list : grantsOfUser(backend, name, groups, this.#options.config.permissive_acl);
  }

  /** Whether tokens keep their grants. */
  get #isKeepingGrants(): boolean {
    const { keep_acl_in_token: isKeeping, external_auth: externalAuth } = this.#options.config;
    return isKeeping || needsKeptGrants(externalAuth);
  }

  #lifeSeconds({ eauth, username }: CredentialTask, asked: number | undefined): number {
    const { token_expire: seconds, token_expire_user_override: override } = this.#options.config;
    if (asked === undefined || !Number.isFinite(asked) || asked <= 0) return seconds;
    const users = isConfigMap(override) && Object.hasOwn(override, eauth) ? override[eauth] : undefined;
    return override === true || (Array.isArray(users) && users.includes(username)) ? asked : seconds;
  }

  #isWithin(job: AskedTarget, isHopeful: boolean): IsWithin {
    let asked: Promise<readonly string[]> | undefined;
    return async (target) => {
      asked ??= this.#idsOf(job, true);
      const ids = await asked;
      if (ids.length === 0) return true;
      // Minions without data get the job, but a grant that matches by data does not cover them.
      const granted = new Set(await this.#idsOf({ target, targetKind: "compound", delimiter: ":" }, isHopeful));
      return ids.every((id) => granted.has(id));
    };
  }

  /** The ids that a target matches. A target that cannot be parsed matches no minion, as in Salt. */
  async #idsOf(target: AskedTarget, isGreedy: boolean): Promise<readonly string[]> {
    const { targets } = this.#options;
    try {
      const { target: written, targetKind, delimiter } = targets.written(target);
      return (await targets.expected({ target: written, targetKind, delimiter }, isGreedy)).minions.texts();
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return [];
    }
  }
}

/** The job's calls. A job of several functions has a list of arguments for each. */
function callsOf({ fun, arg }: Pick<Job, "fun" | "arg">): AskedCall[] {
  const listOf = (value: unknown) => (Array.isArray(value) ? (value as Value[]) : []);
  if (!Array.isArray(fun)) return [{ fun: String(fun), args: listOf(arg), kwargs: undefined }];
  return fun.map((name, index) => ({ fun: String(name), args: listOf(listOf(arg)[index]), kwargs: undefined }));
}

/** Whether `fun` is one name or a flat list of names. A name holds no comma, because Salt's clients split a text at commas. */
function areFunctionNames(fun: unknown): boolean {
  const isName = (name: unknown) => typeof name === "string" && name !== "" && !/[,\s]/.test(name);
  return Array.isArray(fun) ? fun.length > 0 && fun.every(isName) : isName(fun);
}

/** Converts decoded permissions to configuration values: maps become objects. */
function plain(value: Value): ConfigValue {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  if (value instanceof Float) return value.value;
  return typeof value === "object" ? null : value;
}
