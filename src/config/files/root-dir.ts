/**
 * Moves paths of options under `root_dir` as Salt does, absolute paths too, unless they lie there already. Source: observed on Salt 3007
 * (test/config/load.test.ts).
 */
import { posix } from "node:path";

/** `/a` under root `/r` is `/r/a`; `/r/a` stays; `a` becomes `/r/a`. */
export function underRoot(path: string, rootDir: string): string {
  const root = posix.resolve(rootDir);
  if (path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`)) return posix.normalize(path);
  return posix.join(root, path);
}

/** Whether a log destination is a URI such as `file:///dev/log`, to which `root_dir` does not apply. */
export function isUri(path: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(path);
}
