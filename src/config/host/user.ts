/** The user that runs this process. */
import { userInfo } from "node:os";

/** The user's name, or its number if the system has no name for it, as in containers with an arbitrary user. */
export function ownUserName(): string {
  try {
    return userInfo().username;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return `${process.getuid?.()}`;
    throw error;
  }
}
