/** Lists the files of an environment out of the trees of several repositories. Source: Salt 3007's `GitFS`. */
import type { Repository } from "../../../git/repository.ts";
import { isLink, type Tree } from "../../../git/tree.ts";
import type { FileLists } from "../contract/backend.ts";

/** What one remote gives an environment. `root` and `mountpoint`: without slashes at their ends. */
export type Mounted = {
  readonly repository: Repository;
  readonly commit: string;
  readonly tree: Tree;
  readonly root: string;
  readonly mountpoint: string;
};

/** A file's path in the repository; undefined if the environment has the name elsewhere. */
export function pathIn({ root, mountpoint }: Pick<Mounted, "root" | "mountpoint">, name: string): string | undefined {
  if (mountpoint !== "" && !name.startsWith(`${mountpoint}/`)) return undefined;
  const below = mountpoint === "" ? name : name.slice(mountpoint.length + 1);
  return root === "" ? below : `${root}/${below}`;
}

/** The name of a path of the repository; undefined for a path that is not below the root. */
function nameOf({ root, mountpoint }: Mounted, path: string): string | undefined {
  if (root !== "" && !path.startsWith(`${root}/`)) return undefined;
  const below = root === "" ? path : path.slice(root.length + 1);
  return mountpoint === "" ? below : `${mountpoint}/${below}`;
}

/** Links of later remotes win, as in Salt. @throws SaltworksError GIT_FAILED */
export async function listsOf(mounted: readonly Mounted[]): Promise<FileLists> {
  const files = new Set<string>();
  const directories = new Set<string>();
  const links = new Map<string, string>();
  for (const part of mounted) {
    for (const path of part.tree.directories) {
      const name = nameOf(part, path);
      if (name !== undefined) directories.add(name);
    }
    if (part.mountpoint !== "") directories.add(part.mountpoint);
    for (const [path, entry] of part.tree.files) {
      const name = nameOf(part, path);
      if (name === undefined) continue;
      files.add(name);
      if (!isLink(entry)) continue;
      const target = await part.repository.linkTarget(entry);
      if (target !== "") links.set(name, target);
    }
  }
  return { files: [...files].sort(), dirs: [...directories].sort(), emptyDirs: [], links };
}
