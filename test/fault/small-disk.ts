/** A file system of a few megabytes in memory, for tests that fill it: only root can mount one. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type SmallDisk = { readonly path: string; remove(): void };

/** @returns undefined if mounting is not permitted */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), "saltworks-disk-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "none", path]);
  if (status !== 0) {
    rmSync(path, { recursive: true });
    return undefined;
  }
  return {
    path,
    remove: () => {
      // A lazy unmount, because a child that just ended may still use it.
      spawnSync("umount", ["-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The reason why a test with a small disk is skipped here; false if it must run. */
export function smallDiskSkip(): string | false {
  if (process.env.CI === "true") return false;
  const disk = mountSmallDisk(1);
  disk?.remove();
  return disk === undefined ? "only root can mount a small disk" : false;
}
