/** Tasks about the returns of a cluster's members, and their answers. Types only. */
import type { BatchResult } from "./batch.ts";

/** Stores returns of other members. `buffer`: a message of returns (cluster/returns/message.ts). `isHeard`: as in a `BatchTask`. */
export type MemberReturnsTask = {
  readonly kind: "memberReturns";
  readonly buffer: ArrayBuffer;
  readonly isHeard: boolean;
};

/** The events of the returns, as in a batch's result. */
export type MemberReturnsResult = Pick<BatchResult, "buffer" | "eventsStart" | "eventCount" | "returnEvents">;

/** Where repair goes on. `minionId`: the last of the job's returns that was read; undefined if the job is done. */
export type RepairPlace = { readonly jid: string; readonly minionId: string | undefined };

/** Sends returns again that came since then. */
export type RepairTask = {
  readonly kind: "repairReturns";
  readonly sinceMs: number;
  readonly after: RepairPlace | undefined;
};

/** `after`: undefined if all are sent. */
export type RepairAnswer = { readonly sent: number; readonly after: RepairPlace | undefined };
