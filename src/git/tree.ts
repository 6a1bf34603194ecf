/** Reads what `git ls-tree -z -r -t -l` writes about a tree. Pure. Source: git's manual. */

/** `size`: bytes of a blob, else 0. `mode`: as in git, such as 0o100644; 0o120000 is a link. */
export type TreeEntry = { readonly oid: string; readonly mode: number; readonly size: number };
/** `files`: links, too. By path below the tree's root, "/" between the parts. */
export type Tree = { readonly files: ReadonlyMap<string, TreeEntry>; readonly directories: readonly string[] };

const linkMode = 0o120_000;

export function isLink({ mode }: TreeEntry): boolean {
  return mode === linkMode;
}

/** Submodules are left out: they name a commit of another repository. Paths that are not UTF-8 get replacement characters, as everywhere. */
export function readTree(listing: Buffer): Tree {
  const files = new Map<string, TreeEntry>();
  const directories: string[] = [];
  for (const line of listing.toString("utf8").split("\0")) {
    const tab = line.indexOf("\t");
    const [mode = "", type, oid = "", size = ""] = line.slice(0, Math.max(0, tab)).split(/ +/);
    const path = line.slice(tab + 1);
    if (type === "tree") directories.push(path);
    else if (type === "blob") files.set(path, { oid, mode: Number.parseInt(mode, 8), size: Number(size) });
  }
  return { files, directories };
}
