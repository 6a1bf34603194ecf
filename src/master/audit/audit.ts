/**
 * What `audit_log` tells: a line for each login, refusal and command of an operator, a minion or the reactor. Lines name who, from where, which function
 * and which target. They hold no arguments, results, keys, passwords and tokens.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { auditMachineLines, auditRefusals, auditTextLengthMax } from "../../limits.ts";
import type { WrongKey } from "../../workers/messages/batch.ts";
import type { Caller, Deferred } from "../../workers/messages/deferred.ts";
import { LineAllowance } from "../log/line-allowance.ts";
import { AuditFile } from "./audit-file.ts";

/**
 * `unauthenticated`: the caller did not prove its name. `denied`: the user may not do that. `malformed`: not a command. `unmatched`: a target without
 * minions. `started`: the end of the call has a line of its own.
 */
export type AuditOutcome =
  | ("authentic" | "unauthenticated" | "denied" | "malformed")
  | ("published" | "unmatched" | "started" | "succeeded" | "failed");

/** Members of a line that are known where a command is decided. `fun` and `target` are as they were asked for. */
export type AuditNote = {
  readonly outcome: AuditOutcome;
  readonly user?: string;
  readonly eauth?: string;
  readonly fun?: unknown;
  readonly target?: unknown;
  readonly targetKind?: string;
  readonly jid?: string | undefined;
  readonly minions?: number;
};
export type NoteAudit = (note: AuditNote) => void;
export type AuditedWork = Extract<Deferred, { kind: "publish" | "command" | "makeToken" | "readToken" }>;

const refusals: ReadonlySet<AuditOutcome> = new Set(["unauthenticated", "denied", "malformed"]);

/** Who asks, and by which way: the members of a line that do not change with its outcome. */
type Head = {
  readonly client: string;
  readonly proof: string;
  readonly user: string;
  readonly eauth?: string;
  readonly address: string;
  readonly via: "port" | "http" | "minion" | "reactor";
};

export class Audit {
  /** Lines left out of floods. */
  suppressed = 0;
  readonly #file: AuditFile;
  /** Strangers can cause refusals without bound, and minions commands, so that only a part of a flood is written. */
  readonly #ofRefusals = new LineAllowance(performance.now(), auditRefusals);
  readonly #ofMinions = new LineAllowance(performance.now(), auditMachineLines);
  readonly #ofReactor = new LineAllowance(performance.now(), auditMachineLines);

  constructor(file: AuditFile) {
    this.#file = file;
  }

  get counters(): AuditFile["counters"] & { readonly suppressed: number } {
    return { ...this.#file.counters, suppressed: this.suppressed };
  }

  get waitingBytes(): number {
    return this.#file.waitingBytes;
  }

  reopen(): void {
    this.#file.reopen();
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Takes notes about a request. `address`: of the client, which for HTTP is not that of the connection. */
  about(work: AuditedWork, address: string): NoteAudit {
    const head = { ...clientOf(work), ...callerOf(work), address, via: viaOf(work) } as const;
    return (note) => this.#write(work.kind === "makeToken" ? "login" : "command", head, note);
  }

  /** Notes a request with a key that is not its user's. `fun`: cut already where the request could be long. */
  wrongKey({ command, user, fun }: WrongKey, address: string): void {
    const client = command === "publish" ? "local" : command;
    const head = { client, proof: "key", user: shown(user), eauth: "local", address, via: "port" } as const;
    this.#write("command", head, { outcome: "unauthenticated", ...(fun === "" ? {} : { fun }) });
  }

  /** Takes notes about what a minion asks of other minions or of a runner. */
  ofMinion(id: string, client: "local" | "runner"): NoteAudit {
    const head = { client, proof: "minion", user: shown(id), address: "", via: "minion" } as const;
    return (note) => this.#write("command", head, note, this.#ofMinions);
  }

  /** Takes notes about a call of the reactor. */
  ofReactor(client: "local" | "runner" | "wheel" | "caller"): NoteAudit {
    const head = { client, proof: "reactor", user: "", address: "", via: "reactor" } as const;
    return (note) => this.#write("command", head, note, this.#ofReactor);
  }

  /** `bound`: of all lines of this kind; undefined: only refusals are bounded. */
  #write(kind: "login" | "command", head: Head, note: AuditNote, bound?: LineAllowance): void {
    const { outcome, fun, target, targetKind, jid, eauth, ...rest } = note;
    const isRefusal = refusals.has(outcome);
    const allowance = bound ?? (isRefusal ? this.#ofRefusals : undefined);
    const leftOut = allowance === undefined ? 0 : allowance.take(performance.now());
    if (leftOut === undefined) {
      this.suppressed += 1;
      return;
    }
    const asked = {
      ...(fun === undefined ? {} : { fun: shown(fun) }),
      ...(target === undefined ? {} : { target: shown(target) }),
      ...(target === undefined || targetKind === undefined ? {} : { target_type: shown(targetKind) }),
    };
    const proven = eauth === undefined ? {} : { eauth: shown(eauth) };
    // An unrestricted caller chooses the job id.
    const job = jid === undefined ? {} : { jid: shown(jid) };
    const more = leftOut > 0 ? { suppressed: leftOut } : {};
    const { user = head.user, ...others } = rest;
    const line = {
      time: new Date().toISOString(),
      event: isRefusal ? "refusal" : kind,
      outcome,
      ...head,
      user: shown(user),
      ...asked,
      ...proven,
      ...job,
      ...others,
      ...more,
    };
    this.#file.write(JSON.stringify(line));
  }
}

/** @throws SaltworksError CONFIG_INVALID if the file cannot be opened */
export function openAudit(config: Pick<MasterConfig, "audit_log">, logger: Logger): Audit | undefined {
  return config.audit_log === "" ? undefined : new Audit(new AuditFile(config.audit_log, logger));
}

function viaOf({ clientAddress }: AuditedWork): Head["via"] {
  return clientAddress === undefined ? "port" : "http";
}

function clientOf(work: AuditedWork): { readonly client: string } {
  if (work.kind === "publish") return { client: "local" };
  return { client: work.kind === "command" ? work.command : "token" };
}

/** Who a request says that it is from. A token does not tell before it is looked up. */
function callerOf(work: AuditedWork): {
  readonly proof: Caller["kind"] | "password";
  readonly user: string;
  readonly eauth?: string;
} {
  if (work.kind === "readToken") return { proof: "token", user: "" };
  const caller = work.kind === "makeToken" ? undefined : work.caller;
  const credential =
    work.kind === "makeToken" ? work.credential : caller?.kind === "eauth" ? caller.credential : undefined;
  if (credential !== undefined) return { proof: "password", user: credential.username, eauth: shown(credential.eauth) };
  if (caller?.kind === "key") return { proof: "key", user: caller.user, eauth: "local" };
  return { proof: "token", user: "" };
}

/** A short text, or the list of such that was asked for. */
function shown(value: unknown): string {
  const text = Array.isArray(value) ? value.map(String).join(",") : String(value);
  return text.length > auditTextLengthMax ? `${text.slice(0, auditTextLengthMax)}..` : text;
}
