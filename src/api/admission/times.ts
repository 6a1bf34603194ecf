/** How long clients of the API may be silent. Tests have shorter times. */
import { apiSocketSilentMs, apiStreamPingMs, apiUnreadAnswerTimeoutMs } from "../../limits.ts";

export type ApiTimes = {
  readonly unreadMs: number;
  readonly streamPingMs: number;
  readonly socketSilentMs: number;
};

export const apiTimes: ApiTimes = {
  unreadMs: apiUnreadAnswerTimeoutMs,
  streamPingMs: apiStreamPingMs,
  socketSilentMs: apiSocketSilentMs,
};
