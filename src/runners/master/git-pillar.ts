/** Runner `git_pillar`: fetches the repositories of `ext_pillar: git`. Source: Salt 3007's runner, docs/runners.md. */
import { SaltworksError } from "../../errors.ts";
import { pillarRemotesOf } from "../../git/pillar-remotes.ts";
import { type GitRemote, gitOptionOf, shownId } from "../../git/remotes.ts";
import { Repository } from "../../git/repository.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";

/** `true`: something new has come, `null`: nothing, `false`: it failed, and a note says why. */
async function fetched(remote: GitRemote, { note, environment = {} }: RunnerContext): Promise<boolean | null> {
  const repository = new Repository(remote, environment);
  try {
    const isChanged = await repository.fetch();
    if (isChanged === undefined) note?.(`git_pillar remote ${shownId(remote.id)}: locked, and not fetched`);
    return isChanged === undefined ? false : isChanged || null;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    note?.(error.message);
    return false;
  } finally {
    repository.close();
  }
}

async function update(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const { config } = context;
  const [branch, repo] = [textArgument(args, "branch", ""), textArgument(args, "repo", "")];
  const meant = pillarRemotesOf(config.ext_pillar, gitOptionOf(config)).filter(
    (remote) =>
      (branch === "" || branch === remote.branch) &&
      (repo === "" || [remote.access.url, remote.name, remote.id.split(/\s+/).at(-1)].includes(repo)),
  );
  if (meant.length === 0) {
    const text =
      branch === "" && repo === ""
        ? "No git_pillar remotes are configured"
        : "Specified git branch/repo not found in ext_pillar config";
    throw new SaltworksError("FUNCTION_FAILED", text);
  }
  const answers = await Promise.all(
    meant.map(async (remote) => [shownId(remote.id), await fetched(remote, context)] as const),
  );
  return new Map(answers);
}

export const gitPillarRunner: ReadonlyMap<string, RunnerFunction> = new Map([
  [
    "git_pillar.update",
    {
      parameters: parametersOf("branch", "repo"),
      doc: "Fetches the repositories of ext_pillar's git. True: something new, None: nothing new, False: it failed.",
      isOffline: true,
      run: update,
    },
  ],
]);
