/** Which events `event_return_whitelist` and `event_return_blacklist` let through. Source: Salt 3007. */
import { compileGlob } from "../../python/fnmatch.ts";

/** An empty whitelist lets all through, and the blacklist has the last word. */
export function tagFilter(whitelist: readonly string[], blacklist: readonly string[]): (tag: string) => boolean {
  const [allowed, denied] = [whitelist, blacklist].map((patterns) => patterns.map(compileGlob));
  const isAny = (globs: typeof allowed, tag: string) => globs?.some((glob) => glob.matches(tag)) ?? false;
  return (tag) => (whitelist.length === 0 || isAny(allowed, tag)) && !isAny(denied, tag);
}
