/**
 * Finds the login for a command: a kept token, or name and password for an eauth system. Asks for a missing name or password.
 * Source: Salt's Resolver and its commands' use of it; docs/external-auth.md.
 */
import { accessSync, chmodSync, constants, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Login } from "../../client/credentials.ts";
import { MasterClient } from "../../client/master-client.ts";
import { backendConfig, eauthBackends, isEauthBackend } from "../../config/external-auth.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { ownUserName } from "../../config/host/user.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { ownFilePath } from "../host/own-files.ts";

export type LoginOptions = {
  readonly eauth: string | undefined;
  readonly isTokenMade: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
};

const tokenFileMode = 0o600;
/** At the end of input Salt's tools end with a Python traceback and this code. */
const unansweredExitCode = 1;

/**
 * @param isTokenEnough whether a kept token counts even without `-a`
 * @returns undefined for the user of this machine; "failed" if the login failed, after a message
 * @throws Exit if the input ends before the questions are answered
 */
export async function loginOf(
  options: LoginOptions,
  config: MasterConfig,
  host: Host,
  isTokenEnough: boolean,
): Promise<Login | undefined | "failed"> {
  const { eauth } = options;
  const token = isTokenEnough || eauth ? keptToken(config, host) : undefined;
  // A user that can read the master's own key does not need a token.
  if (token !== undefined) return isReadable(join(config.cachedir, ".root_key")) ? undefined : { token };
  if (!eauth) return undefined;
  // The master knows whether the site's own Python has one that the configuration names.
  if (!isEauthBackend(eauth) && backendConfig(config.external_auth, eauth) === undefined) {
    host.write(`The specified external authentication system "${eauth}" is not available\n`);
    host.write(`Available eauth types: ${eauthBackends.join(", ")}\n`);
    return "failed";
  }
  const asked = options.username ?? (await answerTo(host, "username: "));
  const password = options.password ?? (await host.readSecret("password: "));
  if (asked === undefined || password === undefined) {
    host.complain("EOFError: EOF when reading a line\n");
    throw new Exit(unansweredExitCode);
  }
  const login = { eauth, username: asked === "" ? ownUserName() : asked, password };
  const made = options.isTokenMade ? await MasterClient.makeToken(config, login) : undefined;
  if (made === undefined) return login;
  keepToken(config, host, made);
  return { token: made };
}

async function answerTo(host: Host, question: string): Promise<string | undefined> {
  host.write(question);
  return await host.readLine();
}

/** Searches Salt's three places. */
function tokenFile({ opts }: MasterConfig, host: Host): string {
  const home = host.environment.HOME ?? homedir();
  const given = opts.get("token_file");
  if (typeof given === "string" && given !== "") return resolve(given.replace(/^~(?=\/|$)/, home));
  return ownFilePath(host, home, { inDirectory: "salt_token", atHome: "salt_token" });
}

/** Skips a token that is older than `token_expire`. */
function keptToken(config: MasterConfig, host: Host): string | undefined {
  const file = tokenFile(config, host);
  if (!existsSync(file)) return undefined;
  const found = statSync(file);
  if (!found.isFile()) return undefined;
  if (found.mtimeMs + config.token_expire * 1_000 <= Date.now()) return undefined;
  const token = readFileSync(file, "utf8").trim();
  return token === "" ? undefined : token;
}

function keepToken(config: MasterConfig, host: Host, token: string): void {
  const file = tokenFile(config, host);
  try {
    // The file must be private before the token is in it, even if the file existed.
    writeFileSync(file, "", { mode: tokenFileMode });
    chmodSync(file, tokenFileMode);
    writeFileSync(file, token);
  } catch (error) {
    if (!hasCodeIn(error, "EACCES", "ENOENT", "EROFS", "ENOSPC")) throw error;
    host.complain(`The token could not be kept in ${file}: ${(error as Error).message}\n`);
  }
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch (error) {
    if (!hasCodeIn(error, "EACCES", "ENOENT", "ENOTDIR")) throw error;
    return false;
  }
}
