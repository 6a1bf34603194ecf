/**
 * Telling the operating system's errors apart by their code.
 */

/** Whether `error` is a failed system call with one of these codes, such as ENOENT. */
export function hasCodeIn(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}
