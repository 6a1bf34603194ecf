/** A file system that can be filled. */
import { execFileSync } from "node:child_process";

/** @returns why none can be mounted, or false */
export function mountSmall(directory: string, megabytes: number): string | false {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "none", directory], { stdio: "pipe" });
    return false;
  } catch (error) {
    return `no file system can be mounted: ${(error as Error).message.split("\n")[0]}`;
  }
}

export function unmount(directory: string): void {
  execFileSync("umount", [directory]);
}
