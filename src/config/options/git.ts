/** The master's options for files and pillars from git repositories. Part of the table in master.ts. Source: Salt 3007's configuration. */

import { timerSecondsMax } from "./details.ts";
import { any, boolean, integer, list, text, type ValuesOf } from "./option.ts";

const seconds = { min: 1, max: timerSecondsMax, unit: "seconds" } as const;
const secret = { isSecret: true } as const;
const refspecs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
const mayBe = "A remote may have its own.";

export const gitOptions = {
  gitfs_remotes: list([], "Git repositories whose branches and tags are environments of files ([git.md](git.md))."),
  gitfs_base: any("master", `The branch, tag or commit that is the environment \`base\`. ${mayBe}`),
  gitfs_fallback: any("", `A branch or tag for environments that the repository does not have. ${mayBe}`),
  gitfs_root: any("", `A directory of the repository that is the root of its files. ${mayBe}`),
  gitfs_mountpoint: any("", `A path before the names of the repository's files. ${mayBe}`),
  gitfs_saltenv: list([], "`ref`, `root` and `mountpoint` of single environments, for all remotes."),
  gitfs_saltenv_whitelist: list([], `The only environments that are served: globs or regular expressions. ${mayBe}`),
  gitfs_saltenv_blacklist: list([], `Environments that are not served: globs or regular expressions. ${mayBe}`),
  gitfs_ref_types: list(["branch", "tag", "sha"], `What may be an environment: \`branch\`, \`tag\`, \`sha\`. ${mayBe}`),
  gitfs_refspecs: list(refspecs, `What is fetched. ${mayBe}`),
  gitfs_disable_saltenv_mapping: boolean(false, `Only \`base\` and environments of \`saltenv\` are served. ${mayBe}`),
  gitfs_update_interval: integer(60, `Time between two fetches. ${mayBe}`, seconds),
  gitfs_ssl_verify: boolean(true, `Verify certificates of \`https://\` remotes. ${mayBe}`),
  gitfs_user: text("", `User name for \`http(s)://\` remotes. ${mayBe}`),
  gitfs_password: text("", `Password for \`http(s)://\` remotes. ${mayBe}`, secret),
  gitfs_insecure_auth: boolean(false, `Allow a user name and password over \`http://\`. ${mayBe}`),
  gitfs_privkey: text("", `File of the private key for SSH remotes. ${mayBe}`),
  gitfs_pubkey: text("", "File of the public key; `ssh` needs the private one alone."),
  gitfs_passphrase: text("", `Passphrase of the private key. ${mayBe}`, secret),
  git_pillar_base: any("master", `The branch that is the pillar environment \`base\`. ${mayBe}`),
  git_pillar_branch: any("master", "The branch of remotes of `ext_pillar: git` that name none."),
  git_pillar_env: any("", `The pillar environment of a remote, instead of its branch's name. ${mayBe}`),
  git_pillar_fallback: any("", `A branch for pillar environments that the repository does not have. ${mayBe}`),
  git_pillar_root: any("", `A directory of the repository that is the root of its pillar. ${mayBe}`),
  git_pillar_includes: boolean(true, "Pillar files of a remote may include files of the other remotes."),
  git_pillar_refspecs: list(refspecs, `What is fetched. ${mayBe}`),
  git_pillar_update_interval: integer(60, "Time between two fetches.", seconds),
  git_pillar_ssl_verify: boolean(true, `Verify certificates of \`https://\` remotes. ${mayBe}`),
  git_pillar_user: text("", `User name for \`http(s)://\` remotes. ${mayBe}`),
  git_pillar_password: text("", `Password for \`http(s)://\` remotes. ${mayBe}`, secret),
  git_pillar_insecure_auth: boolean(false, `Allow a user name and password over \`http://\`. ${mayBe}`),
  git_pillar_privkey: text("", `File of the private key for SSH remotes. ${mayBe}`),
  git_pillar_pubkey: text("", "File of the public key; `ssh` needs the private one alone."),
  git_pillar_passphrase: text("", `Passphrase of the private key. ${mayBe}`, secret),
};

export type GitOptions = ValuesOf<typeof gitOptions>;
