/**
 * Tells the operating system's errors apart by their codes.
 */

/** Whether `error` is a failed system call with one of these codes, such as ENOENT. */
export function hasCodeIn(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}

/** Whether `error` says that a file does not exist or that this process may not read it. */
export function isNotThere(error: unknown): boolean {
  return hasCodeIn(error, "ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG");
}

/** For a file or directory that may be gone by the time it is read. @throws any other error */
export function undefinedIfGone(error: unknown): undefined {
  if (isNotThere(error)) return undefined;
  throw error;
}

/** The same for the listing of a directory. */
export function nothingIfGone(error: unknown): [] {
  undefinedIfGone(error);
  return [];
}

/** An error's message. Appends the system's message if a failed system call is the cause and the message lacks it. */
export function withSystemReason({ message, cause }: Error): string {
  const isSystems = cause instanceof Error && "errno" in cause && "syscall" in cause;
  return isSystems && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}
