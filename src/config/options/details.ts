/** Details that several option tables share: bounds with units, marks, log levels. */
export const mebibyte = 1024 * 1024;
export const day = 86_400;
/** Waits in seconds above this do not fit a Node.js timer (2^31 - 1 milliseconds). */
export const timerSecondsMax = 2_147_483;
export const seconds = { min: 0, max: timerSecondsMax, unit: "seconds" } as const;
export const port = { min: 1, max: 65_535, unit: "port" } as const;
/** An option that Salt does not have. */
export const ours = { isOurs: true } as const;
/** An option that is read, checked and kept, but has no effect. */
export const kept = { isKept: true } as const;
export const path = { isPath: true } as const;
/** Salt's log levels, most talkative first. */
export const logLevels = [
  "all",
  "garbage",
  "trace",
  "debug",
  "profile",
  "info",
  "warning",
  "error",
  "critical",
  "quiet",
] as const;
