/** Runner `fileserver`: the master's files as minions get them. Source: Salt 3007's runner, docs/runners.md. */
import { SaltworksError } from "../../errors.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, listArgument, parametersOf, textArgument } from "../contract/arguments.ts";
import type { MasterFiles, RunnerContext, RunnerFunction } from "../contract/contract.ts";

/**
 * The backends that `backend=` means; without it all. If each name has a `-`, those are left out of all; otherwise such names mean nothing, as in
 * Salt. A backend that `fileserver_backend` does not name is not available.
 */
function meantBackends(context: RunnerContext, args: ValueMap): readonly string[] {
  const { backendNames } = filesOf(context);
  const asked = listArgument(args.get("backend")) ?? [];
  if (asked.every((name) => name.startsWith("-"))) return backendNames.filter((name) => !asked.includes(`-${name}`));
  for (const name of asked)
    if (!backendNames.includes(name)) context.note?.(`fileserver backend ${name} is not available here`);
  return backendNames.filter((name) => asked.includes(name));
}

function filesOf({ files }: RunnerContext): MasterFiles {
  if (files === undefined) throw new SaltworksError("FUNCTION_FAILED", "the file server cannot be reached from here");
  return files;
}

function listing(name: "files" | "dirs" | "emptyDirs", doc: string): RunnerFunction {
  return {
    parameters: parametersOf("saltenv", "backend"),
    doc,
    isOffline: true,
    run: async (context, args) =>
      await filesOf(context).list(name, textArgument(args, "saltenv", "base"), meantBackends(context, args)),
  };
}

/** `member`: of the answer, if any lock was set or removed. */
function locking(kind: "lock" | "clearLock", member: string, nothing: string, doc: string): RunnerFunction {
  return {
    parameters: parametersOf("backend", "remote"),
    doc,
    isOffline: true,
    run: (context, args) => {
      const remote = textArgument(args, "remote", "") || undefined;
      const sentences = filesOf(context).lock(kind, remote, meantBackends(context, args));
      return sentences.length === 0 ? nothing : { [member]: sentences };
    },
  };
}

async function update(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const changes = await filesOf(context).update(meantBackends(context, args));
  for (const { failure } of changes.values()) if (failure !== undefined) context.note?.(failure);
  if (!context.config.fileserver_events) return true;
  for (const [backend, { isChanged, changed, added, removed }] of changes) {
    const data = { changed: isChanged, files: { changed, removed, added }, backend };
    await context.master?.fire({ tag: `salt/fileserver/${backend}/update`, data: encode(data, "bin") });
  }
  return true;
}

async function clearLists(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const asked = args.get("saltenv") ?? null;
  const environments = asked === null ? undefined : listArgument(asked);
  return new Map(await filesOf(context).clearLists(environments, meantBackends(context, args)));
}

async function clearCache(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const failures = [...(await filesOf(context).clearCaches(meantBackends(context, args)))];
  const cleared = failures.flatMap(([backend, texts]) =>
    texts.length === 0 ? [`The ${backend} fileserver cache was successfully cleared`] : [],
  );
  const errors = failures.flatMap(([, texts]) => texts);
  if (failures.length === 0) return "No cache was cleared";
  return { ...(cleared.length > 0 && { cleared }), ...(errors.length > 0 && { errors }) };
}

export const fileserverRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "fileserver.envs",
    {
      parameters: parametersOf("backend", "sources"),
      doc: "Environments of the master's files, from file_roots and git remotes.",
      isOffline: true,
      run: async (context, args) => {
        const backends = meantBackends(context, args);
        return isGivenTrue(args, "sources") ? [...backends].sort() : await filesOf(context).environments(backends);
      },
    },
  ],
  ["fileserver.file_list", listing("files", "The files of an environment that minions get.")],
  ["fileserver.dir_list", listing("dirs", "The directories of an environment.")],
  ["fileserver.empty_dir_list", listing("emptyDirs", "The empty directories of an environment.")],
  [
    "fileserver.symlink_list",
    {
      parameters: parametersOf("saltenv", "backend"),
      doc: "The links of an environment, with their targets.",
      isOffline: true,
      run: async (context, args) =>
        await filesOf(context).symlinks(textArgument(args, "saltenv", "base"), meantBackends(context, args)),
    },
  ],
  [
    "fileserver.update",
    {
      parameters: parametersOf("backend"),
      takes: "keywords",
      doc: "Looks for changes below the file roots, and fetches git remotes; with fileserver_events an event lists the changes.",
      isOffline: true,
      run: update,
    },
  ],
  [
    "fileserver.clear_file_list_cache",
    {
      parameters: parametersOf("saltenv", "backend"),
      doc: "Forgets the file lists cached for fileserver_list_cache_time. Answers with their environments.",
      isOffline: true,
      run: clearLists,
    },
  ],
  [
    "fileserver.clear_cache",
    {
      parameters: parametersOf("backend"),
      doc: "Removes what was fetched from git remotes, until the next fetch; `roots` has no cache.",
      isOffline: true,
      run: clearCache,
    },
  ],
  [
    "fileserver.clear_lock",
    locking(
      "clearLock",
      "cleared",
      "No locks were removed",
      "Allows fetches of git remotes again, after fileserver.lock.",
    ),
  ],
  ["fileserver.lock", locking("lock", "locked", "No locks were set", "Keeps git remotes from being fetched.")],
]);
