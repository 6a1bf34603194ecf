/** Whom this process runs as. */
import { userInfo } from "node:os";

/** The number where the system has no name for it, as in containers that are given any number. */
export function ownUserName(): string {
  try {
    return userInfo().username;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return `${process.getuid?.()}`;
    throw error;
  }
}
