/** How a remote is reached: its address, and credentials that git asks a small program for. Source: git's manual; Salt 3007's check of URLs. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../store/disk/durable-file.ts";
import type { GitEnvironment } from "./program.ts";

export type GitAccess = {
  readonly url: string;
  readonly verifies: boolean;
  readonly user: string;
  readonly password: string;
  readonly privateKey: string;
  readonly passphrase: string;
};

const transports = /^(?:https?|ssh|file):\/\/[^\s]+$/i;
/** `git@host:path`. */
const short = /^([^@:/\s]+)@([^:\s-][^:\s]*):(\S+)$/;

/** `url`: in the form `TRANSPORT://…`, so that git takes it for no option and for no program. */
export function addressOf(written: string): { readonly url: string } | { readonly fault: string } {
  const found = short.exec(written);
  if (found !== null) {
    const [, user, host, path = ""] = found;
    return { url: `ssh://${user}@${host}${path.startsWith("/") ? "" : "/"}${path}` };
  }
  if (transports.test(written)) return { url: written };
  return { fault: "has an address of another form than https://, http://, ssh://, file:// or USER@HOST:PATH" };
}

/** Answers git's and ssh's questions for a user name, a password or a passphrase. The answers come by the environment, which is its own user's alone. */
const askpass = `#!/bin/sh
case "$1" in
Username*) printf '%s\\n' "$SALTWORKS_GIT_USER" ;;
*) printf '%s\\n' "$SALTWORKS_GIT_SECRET" ;;
esac
`;

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** `directory`: for the program that answers. */
export function accessEnvironment(access: GitAccess, outer: GitEnvironment, directory: string): GitEnvironment {
  const secret = access.privateKey === "" ? access.password : access.passphrase;
  const ssh = [
    outer.GIT_SSH_COMMAND ?? "ssh",
    ...(access.privateKey === "" ? [] : ["-i", quoted(access.privateKey), "-o", "IdentitiesOnly=yes"]),
    ..."-o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=3".split(" "),
    ...(access.passphrase === "" ? ["-o", "BatchMode=yes"] : ["-o", "NumberOfPasswordPrompts=1"]),
  ];
  const asks = access.user !== "" || secret !== "";
  return {
    ...outer,
    GIT_SSH_COMMAND: ssh.join(" "),
    ...(access.verifies ? {} : { GIT_SSL_NO_VERIFY: "1" }),
    ...(asks && {
      GIT_ASKPASS: askpassIn(directory),
      SSH_ASKPASS: askpassIn(directory),
      SSH_ASKPASS_REQUIRE: "force",
      SALTWORKS_GIT_USER: access.user,
      SALTWORKS_GIT_SECRET: secret,
    }),
  };
}

function askpassIn(directory: string): string {
  const path = join(directory, "askpass");
  if (existsSync(path)) return path;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  replaceFile(path, askpass, 0o700);
  return path;
}
