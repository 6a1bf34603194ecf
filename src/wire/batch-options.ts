/**
 * The options of a batch job, and its record: entries in order of time. Clients read the same entries from the event bus
 * (`saltworks/batch/<jid>/<kind>`) and from the stored log. Source: docs/decisions/0020-batches-in-the-master.md. Pure.
 */
import type { Encodable, Value, ValueMap } from "./values.ts";

/** A number of minions, or a percentage of them. */
export type Share =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "percent"; readonly percent: number };

/** Shares as the operator wrote them; `parseShare` reads them. */
export type BatchOptions = {
  /** How many minions run at a time. */
  readonly size: string;
  /** How long a slot stays empty after its minion has returned. */
  readonly waitSeconds: number;
  /** The first failure ends the batch at once. */
  readonly isFailHard: boolean;
  /** How many minions run first, alone. The others run only if all of these succeed. */
  readonly canary: number;
  /** At this number of failures the batch job starts no more minions. */
  readonly failuresMax: string | undefined;
  /** Followers show one document when the batch job is over. */
  readonly isStatic: boolean;
};

/** `finished`: every minion had its turn. Any other outcome says why no more minions were started. */
export type BatchOutcome = "finished" | "failhard" | "failures" | "canary" | "aborted";

/** `at`: milliseconds since 1970. `jid`: in `new` the batch job's id; in all other entries the id of the step, which is an ordinary job. */
export type BatchEntry =
  | {
      readonly kind: "new";
      readonly at: number;
      readonly jid: string;
      readonly user: string;
      /** Job of the ping that finds the present minions. */
      readonly ping: string;
      readonly expected: number;
      readonly timeoutMs: number;
      readonly gatherTimeoutMs: number;
      readonly size: string;
      readonly waitSeconds: number;
      readonly isFailHard: boolean;
      readonly canary: number;
      readonly failuresMax: string;
      readonly isStatic: boolean;
      /** The load as it is stored, in base64. It does not appear on the bus. */
      readonly load: string;
      /** Whose batch job it is: only an owner by lease goes on with it. Undefined without a cluster. */
      readonly cluster?: string;
    }
  /** The ping has ended. `window`: the number of minions that run at a time. */
  | {
      readonly kind: "queue";
      readonly ids: readonly string[];
      readonly absent: readonly string[];
      readonly window: number;
    }
  /** The minion answered after the ping had ended. */
  | { readonly kind: "late"; readonly id: string }
  /** Written before the step's job is sent. */
  | { readonly kind: "start"; readonly jid: string; readonly ids: readonly string[]; readonly at: number }
  /** Written after the step's job was sent. */
  | { readonly kind: "sent"; readonly jid: string }
  | {
      readonly kind: "return";
      readonly jid: string;
      readonly id: string;
      readonly retcode: number;
      readonly at: number;
    }
  | { readonly kind: "silent"; readonly jid: string; readonly ids: readonly string[]; readonly at: number }
  | { readonly kind: "pause" | "resume" | "abort"; readonly user: string; readonly at: number }
  /** The master was restarted during the batch job. */
  | { readonly kind: "restart"; readonly at: number }
  | ({
      readonly kind: "done";
      readonly at: number;
      readonly outcome: BatchOutcome;
      readonly culprit: string;
    } & BatchCounts);

export type BatchCounts = {
  readonly minions: number;
  readonly absent: number;
  readonly queued: number;
  readonly running: number;
  readonly returned: number;
  readonly failed: number;
  readonly silent: number;
  readonly retcode: number;
};

/** `3`, `10%` or `%10`. Undefined for anything else, and for a share of no minions. */
export function parseShare(text: string): Share | undefined {
  const trimmed = text.trim();
  if (!trimmed.includes("%")) {
    const count = /^\+?\d{1,9}$/.test(trimmed) ? Number(trimmed) : 0;
    return count >= 1 ? { kind: "count", count } : undefined;
  }
  const digits = trimmed.replace(/^%+|%+$/g, "").trim();
  const percent = /^\+?(?:\d{1,9}(?:\.\d*)?|\.\d+)$/.test(digits) ? Number(digits) : 0;
  return percent > 0 ? { kind: "percent", percent } : undefined;
}

/** Number of `total` minions that run at a time: a percentage is rounded down, but never below one. */
export function windowOf(share: Share, total: number): number {
  if (share.kind === "count") return share.count;
  return Math.max(1, Math.floor((share.percent / 100) * total));
}

/** The number of failures among `total` minions at which a batch job stops: a percentage is rounded up. */
export function failuresOf(share: Share, total: number): number {
  if (share.kind === "count") return share.count;
  return Math.max(1, Math.ceil((share.percent / 100) * total));
}

/** The options as members of a publish's `kwargs`. */
export function encodeBatchOptions(options: BatchOptions): { readonly [name: string]: Encodable } {
  return {
    size: options.size,
    wait: options.waitSeconds,
    failhard: options.isFailHard,
    canary: options.canary,
    max_failures: options.failuresMax ?? "",
    static: options.isStatic,
  };
}

/** @returns undefined for options that are not valid; the second member says why */
export function readBatchOptions(fields: ValueMap): readonly [BatchOptions, ""] | readonly [undefined, string] {
  const size = textOf(fields.get("size"));
  if (parseShare(size) === undefined) return [undefined, `Invalid batch size: ${size}`];
  const failuresMax = textOf(fields.get("max_failures"));
  if (failuresMax !== "" && parseShare(failuresMax) === undefined)
    return [undefined, `Invalid number of failures that a batch may have: ${failuresMax}`];
  const waitSeconds = numberOf(fields.get("wait"));
  if (!(waitSeconds >= 0)) return [undefined, "Invalid seconds to wait in a batch"];
  const canary = numberOf(fields.get("canary"));
  if (!(canary >= 0) || !Number.isInteger(canary)) return [undefined, "Invalid number of canaries in a batch"];
  return [
    {
      size,
      waitSeconds,
      isFailHard: fields.get("failhard") === true,
      canary,
      failuresMax: failuresMax === "" ? undefined : failuresMax,
      isStatic: fields.get("static") === true,
    },
    "",
  ];
}

function textOf(value: Value | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function numberOf(value: Value | undefined): number {
  if (value === undefined || value === null) return 0;
  // The decoder gives an integral float as an object (`Float`).
  return typeof value === "object" && "value" in value ? Number(value.value) : Number(value);
}
