/** Runner `fileserver`: the master's files as minions get them. Source: Salt 3007's runner, docs/runners.md. */
import { SaltworksError } from "../../errors.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, listArgument, parametersOf, textArgument } from "../contract/arguments.ts";
import type { MasterFiles, RunnerContext, RunnerFunction } from "../contract/contract.ts";

/** The only backend. */
const roots = "roots";

/** Whether the wanted backends, or else the configured ones, include `roots`. `-name` leaves one out, as in Salt. */
function isMeant(context: RunnerContext, args: ValueMap): boolean {
  const configured = context.config.fileserver_backend.map(String);
  const asked = listArgument(args.get("backend")) ?? [];
  if (asked.length === 0) return configured.includes(roots);
  if (asked.every((name) => name.startsWith("-"))) return configured.includes(roots) && !asked.includes(`-${roots}`);
  for (const name of asked) if (name !== roots) context.note?.(`fileserver backend ${name} is not available here`);
  return asked.includes(roots);
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
      isMeant(context, args) ? await filesOf(context).list(name, textArgument(args, "saltenv", "base")) : [],
  };
}

/** Does nothing and answers with Salt's sentence: other backends have what `roots` has not. */
function withoutEffect(sentence: string, doc: string, ...names: readonly string[]): RunnerFunction {
  return { parameters: parametersOf("backend", ...names), doc, isOffline: true, run: () => sentence };
}

async function update(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  if (!isMeant(context, args)) return true;
  const { isChanged, changed, added, removed } = await filesOf(context).update();
  if (context.config.fileserver_events) {
    const data = { changed: isChanged, files: { changed, removed, added }, backend: roots };
    await context.master?.fire({ tag: `salt/fileserver/${roots}/update`, data: encode(data, "bin") });
  }
  return true;
}

async function clearLists(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  if (!isMeant(context, args)) return {};
  const asked = args.get("saltenv") ?? null;
  const cleared = await filesOf(context).clearLists(asked === null ? undefined : listArgument(asked));
  return cleared.length === 0 ? {} : { [roots]: cleared };
}

export const fileserverRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "fileserver.envs",
    {
      parameters: parametersOf("backend", "sources"),
      doc: "Environments of the master's files, from file_roots.",
      isOffline: true,
      run: (context, args) => {
        if (!isMeant(context, args)) return [];
        return isGivenTrue(args, "sources") ? [roots] : filesOf(context).environments();
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
        isMeant(context, args) ? await filesOf(context).symlinks(textArgument(args, "saltenv", "base")) : {},
    },
  ],
  [
    "fileserver.update",
    {
      parameters: parametersOf("backend"),
      takes: "keywords",
      doc: "Looks for changes below the file roots; with fileserver_events an event lists them.",
      isOffline: true,
      run: update,
    },
  ],
  [
    "fileserver.clear_file_list_cache",
    {
      parameters: parametersOf("saltenv", "backend"),
      doc: "Forgets the lists of files that are kept for fileserver_list_cache_time, and names their environments.",
      isOffline: true,
      run: clearLists,
    },
  ],
  [
    "fileserver.clear_cache",
    withoutEffect("No cache was cleared", "Backends that fetch from elsewhere have a cache; `roots` does not."),
  ],
  [
    "fileserver.clear_lock",
    withoutEffect(
      "No locks were removed",
      "Backends that fetch from elsewhere take locks; `roots` does not.",
      "remote",
    ),
  ],
  ["fileserver.lock", withoutEffect("No locks were set", "As clear_lock: `roots` does not take locks.", "remote")],
]);
