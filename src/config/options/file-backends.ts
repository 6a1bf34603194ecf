/**
 * The file server's backends by their names in `fileserver_backend`. src/fileserver/backends/registry.ts has the backends; it compiles only with the
 * same names.
 */
export const fileBackendNames = ["roots", "git", "gitfs", "minionfs", "minion"] as const;
export type FileBackendName = (typeof fileBackendNames)[number];

export function isBuilt(name: string): name is FileBackendName {
  return fileBackendNames.some((known) => known === name);
}

/** Whether `gitfs_remotes` are served. */
export function servesGit(backends: readonly string[]): boolean {
  return backends.some((name) => name === "git" || name === "gitfs");
}

/** The configured backends that exist here or that Python serves, in the order of their search. */
export function usedFileBackends(configured: readonly unknown[], ofPython: readonly string[] = []): string[] {
  const wanted = new Set(configured.map(String));
  // The second of each is another name of the first.
  if (wanted.has("git")) wanted.delete("gitfs");
  if (wanted.has("minionfs")) wanted.delete("minion");
  return [...wanted].filter((name) => isBuilt(name) || ofPython.includes(name));
}
