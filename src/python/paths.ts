/** What Python's `os.path` makes of a path. */
import { posix } from "node:path";

/** The part behind the last slash, as `os.path.basename` gives it: empty if the path ends in a slash. */
export function baseName(path: string): string {
  return path.endsWith("/") ? "" : posix.basename(path);
}
