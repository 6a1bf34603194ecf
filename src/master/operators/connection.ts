/** The part of an operator's connection that commands use. */

import type { NoteAudit } from "../audit/audit.ts";

/**
 * `prove`: marks the connection as proven, after a right key, or a token or password of a user with any grant. `note`: for `audit_log`; missing
 * without it.
 */
export type OperatorConnection = {
  readonly address: string;
  readonly prove: () => void;
  readonly note?: NoteAudit | undefined;
};

/** For requests that do not come over an operator's connection. */
export const noConnection: OperatorConnection = { address: "", prove: () => undefined };
