/**
 * Notices for an operator on standard error, in addition to Salt's output. Written only to a terminal, because
 * scripts may expect exactly Salt's output.
 */

import type { JobRequest } from "../../client/job-request.ts";
import type { MasterClient } from "../../client/master-client.ts";
import { requestEndpoint } from "../../client/request-port.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { Host } from "../host/host.ts";

/** Maximum of ids in one line. */
const namesMax = 5;

function notice(host: Host, text: string): void {
  if (host.errorTerminal !== undefined) host.complain(`${text}\n`);
}

/** Names the sockets and ports that were tried, if the master did not answer. */
export function noticePlace(error: unknown, config: MasterConfig, host: Host): void {
  if (!hasCode(error, "MASTER_UNREACHABLE") && !hasCode(error, "REQUEST_TIMEOUT")) return;
  const { configFile, sock_dir: sockets } = config;
  notice(host, `According to ${configFile}: event sockets in ${sockets}, requests at ${requestEndpoint(config)}.`);
}

/** How commands of `saltworks salt` explain a target. */
const explainHint = "--explain in place of the function";

/** Explains in one line why a target matches no minion. `hint`: the command that explains more. */
export async function noticeNoMatch(
  { target, targetKind, kwargs }: Pick<JobRequest, "target" | "targetKind" | "kwargs">,
  client: MasterClient,
  host: Host,
  hint: string = explainHint,
): Promise<void> {
  if (host.errorTerminal === undefined) return;
  let why: string;
  try {
    const delimiter = String(kwargs?.delimiter ?? ":");
    const explained = await client.explainTarget({ target, targetKind, delimiter });
    const fault = explained.get("fault");
    const unknown = explained.get("unknown");
    const named = unknown instanceof Map ? unknown.get("first") : undefined;
    if (typeof fault === "string") why = `The target cannot be read: ${fault}`;
    else if (named instanceof Map && named.size > 0) why = `No accepted key: ${unknownNames(named)}.`;
    else why = "No minion with an accepted key matches.";
  } catch (error) {
    // The user may not ask, or the master does not answer: no notice.
    if (!(error instanceof SaltworksError)) throw error;
    return;
  }
  notice(host, `${why} ${hint} shows what each part of the target matches.`);
}

function unknownNames(states: ReadonlyMap<unknown, unknown>): string {
  const names = [...states].slice(0, namesMax).map(([id, state]) => `${String(id)} (${String(state)})`);
  return names.join(", ") + (states.size > namesMax ? " and others" : "");
}

/**
 * Reports until when a job waits for absent minions. With `--deliver-within`, which Salt lacks, the notice goes to pipes, too. A job that waits
 * because of the configuration's `deliver_within` gets it only on a terminal, because scripts expect Salt's output.
 */
export function noticeDelivery(
  untilMs: number | undefined,
  isAsked: boolean,
  away: readonly string[] | undefined,
  host: Host,
): void {
  if (untilMs === undefined || away?.length === 0) return;
  if (!isAsked && host.errorTerminal === undefined) return;
  const until = clockText(new Date(untilMs));
  const names = away?.slice(0, namesMax).join(", ");
  const more = away !== undefined && away.length > namesMax ? ` and ${away.length - namesMax} others` : "";
  host.complain(
    names === undefined
      ? `Minions that are away get the job if they come back before ${until}.\n`
      : `${names}${more}: a minion that is away gets the job if it comes back before ${until}.\n`,
  );
}

/** The time by this machine's clock, to the second. */
function clockText(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** A `saltworks` command line with the `-c` of the current command, so that it reads the same configuration. */
export function commandLine(words: string, configDir: string | undefined): string {
  const [program = "", command = "", ...rest] = words.split(" ");
  if (configDir === undefined) return words;
  const quoted = /^[\w@%+=:,./-]+$/.test(configDir) ? configDir : `'${configDir.replaceAll("'", "'\\''")}'`;
  return [program, command, "-c", quoted, ...rest].join(" ");
}

/** Adds `-c` to the `saltworks` commands in backticks in a text of the master. */
export function withCommandLines(text: string, configDir: string | undefined): string {
  return text.replace(/`(saltworks [a-z-]+[^`]*)`/g, (_, words: string) => `\`${commandLine(words, configDir)}\``);
}

/** Names our command for late returns. Salt's sentence names `salt-run`, which may be missing or read another configuration. */
export function noticeLookup(jid: string, configDir: string | undefined, host: Host): void {
  notice(host, `Late returns: ${commandLine(`saltworks run jobs.lookup_jid ${jid}`, configDir)}`);
}
