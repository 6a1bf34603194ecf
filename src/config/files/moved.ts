/** Whether an open file is still the one at its path, for logs that logrotate moves. */
import { fstatSync, statSync } from "node:fs";

export function isMoved(descriptor: number, path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  const ours = fstatSync(descriptor);
  return there?.ino !== ours.ino || there.dev !== ours.dev;
}
