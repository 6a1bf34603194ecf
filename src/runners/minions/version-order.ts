/** Compares versions of minions, for the groups of `manage.versions`. Pure. */

/** Salt numbers its releases by year (2014.1.0) or from 3000 on; smaller numbers are this program's own. */
const saltMajorMin = 2_000;

/** The version to compare a minion's with: Salt's for a Salt release, else this program's. */
export function referenceFor(version: string, own: string, saltRelease: string): string {
  return isSaltRelease(version) ? saltRelease : own;
}

export function isSaltRelease(version: string): boolean {
  return (numbersOf(version)[0] ?? 0) >= saltMajorMin;
}

/** Negative if `a` is older. `3007.15` and `3007.15+12.gabc` are the same release; a release candidate is older than its release. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(isCandidate(b)) - Number(isCandidate(a));
}

function numbersOf(version: string): number[] {
  return (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? "").split(".").filter(Boolean).map(Number);
}

function isCandidate(version: string): boolean {
  return /^v?[\d.]+-?(rc|beta|alpha|a|b)/i.test(version);
}
