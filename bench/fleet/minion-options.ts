/** Behaviour of one simulated minion: options that `salt-minion` has, and the shape of its work. */

/** From..to, both included; each use draws a value evenly. */
export type Range = readonly [number, number];

export type RequestVersion = 0 | 2 | 3;

export type MinionOptions = {
  readonly masterHost: string;
  readonly requestPort: number;
  /** Undefined: the port that the `_auth` reply names, as old minions do. */
  readonly publishPort: number | undefined;
  readonly version: RequestVersion;
  /** Bytes of the text that any function but `test.*` and `saltutil.*` returns. */
  readonly returnBytes: Range;
  /** Exit code of any function but `test.*` and `saltutil.*`. */
  readonly retcode: number;
  /** How long a function takes. */
  readonly returnDelayMs: Range;
  readonly hasStartEvents: boolean;
  /** One try of `_auth` (`auth_timeout`). */
  readonly authTimeoutMs: number;
  /** Between two tries of `_auth` while the key is pending (`acceptance_wait_time`). */
  readonly acceptanceWaitMs: number;
  /** One try of any sealed request but `_return` (`request_channel_timeout`). */
  readonly requestTimeoutMs: number;
  readonly requestTries: number;
  /** One try of `_return` (`return_retry_timer` to `return_retry_timer_max`). */
  readonly returnTimeoutMs: Range;
  readonly returnTries: number;
  /** Before a lost subscription is connected again (`recon_default` to `recon_default` + `recon_max`). */
  readonly reconnectMs: Range;
  /** Whether to keep, for each job, the minions whose return was acknowledged. */
  readonly isRecordingAcks: boolean;
};

/** Salt's own values. */
export const minionDefaults = {
  publishPort: undefined,
  version: 3,
  returnBytes: [64, 64],
  retcode: 0,
  returnDelayMs: [0, 0],
  hasStartEvents: true,
  authTimeoutMs: 5_000,
  acceptanceWaitMs: 10_000,
  requestTimeoutMs: 60_000,
  requestTries: 3,
  returnTimeoutMs: [5_000, 10_000],
  returnTries: 3,
  reconnectMs: [1_000, 11_000],
  isRecordingAcks: false,
} as const satisfies Partial<MinionOptions>;

export function drawFrom([from, to]: Range): number {
  return from === to ? from : from + Math.floor(Math.random() * (to - from + 1));
}
