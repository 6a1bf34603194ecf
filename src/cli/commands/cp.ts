/** `saltworks cp`: copies files of this machine to minions, inside jobs. Source: docs/compatibility.md, "saltworks cp". */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { JobRequest } from "../../client/job-request.ts";
import { MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { followTimes, targetExpression, targetKindOf } from "../args/targets.ts";
import { keywordMark } from "../args/words.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { findSources, firstDirectory, piecesOf, readWhole, type SourceFile } from "../input/copy-sources.ts";
import { openToolLog } from "../log/open-log.ts";
import { copyTargetOptions } from "../options/cp-options.ts";
import type { OptionsOf } from "../options/parse.ts";
import { Display } from "../show/display.ts";
import { displayChoice } from "../show/display-choice.ts";
import { isHardCrash, orCrash } from "../show/hard-crash.ts";
import { commandLine, noticeLookup, noticeNoMatch, noticePlace } from "../show/notices.ts";
import { noMatchText, saltExitCodes } from "../show/salt-endings.ts";
import { namesLookup, silentText } from "../show/silent-texts.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";
import { explainFailure } from "./salt/job.ts";

type CpOptions = OptionsOf<"cp">;
type Call = Pick<JobRequest, "target" | "targetKind" | "kwargs"> & {
  readonly follow: NonNullable<JobRequest["follow"]>;
};

const compress = promisify(gzip);

/** @returns the exit code */
export async function runCp(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("cp", argv, host);
  return await orCrash(options.isHardCrash, host, () => runCopy(options, positionals, host));
}

async function runCopy(options: CpOptions, positionals: readonly string[], host: Host): Promise<number> {
  const config = masterConfig(options.configDir, host);
  const display = new Display(displayChoice(options, config, host.environment), host);
  const log = openToolLog(options, config, host);
  const [targetWord = "", ...paths] = positionals;
  const destination = paths.pop() ?? "";
  if (!options.isChunked) refuseDirectories(paths, display);
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user);
    const call = toCall(options, targetWord, config);
    const asking = client;
    const hint = `${commandLine("saltworks salt", options.configDir)} TARGET --explain`;
    const copy = new Copy(client, display, call, () => noticeNoMatch(call, asking, host, hint));
    if (options.isChunked) {
      const { files, emptyDirectories } = findSources(paths, destination);
      const pieceBytes = config.salt_cp_chunk_size;
      await copy.inPieces(files, emptyDirectories, { pieceBytes, isCompressed: !options.isCompressionOff });
    } else {
      const files = readWhole(paths, (path) => log.warn(`${path} does not exist, so it is not copied`));
      await copy.whole(files, destination);
    }
    display.show(copy.results());
    if (copy.lateJid !== undefined) noticeLookup(copy.lateJid, options.configDir, host);
    return copy.isComplete ? saltExitCodes.done : saltExitCodes.failed;
  } catch (error) {
    const code = isHardCrash(options.isHardCrash, host) ? undefined : explainFailure(error, true, display, host, log);
    if (code === undefined) throw error;
    noticePlace(error, config, host);
    return code;
  } finally {
    client?.close();
  }
}

/** @throws Exit after Salt's sentence on standard output */
function refuseDirectories(paths: readonly string[], display: Display): void {
  const directory = firstDirectory(paths);
  if (directory === undefined) return;
  display.line(
    `${directory} is a directory, only files are supported in non-chunked mode. Use "--chunked" command line argument.`,
  );
  throw new Exit(saltExitCodes.failed);
}

function toCall(options: CpOptions, targetWord: string, config: MasterConfig): Call {
  const targetKind = targetKindOf(copyTargetOptions, options);
  return {
    target: targetExpression(targetKind, targetWord),
    targetKind,
    kwargs: { delimiter: options.delimiter ?? ":" },
    follow: followTimes(options.timeoutSeconds, undefined, config),
  };
}

/** Copies to the minions of a target and collects the result of each minion. */
class Copy {
  readonly #client: MasterClient;
  readonly #display: Display;
  readonly #call: Call;
  /** Tells the operator why no minion matched. */
  readonly #explain: () => Promise<void>;
  /** By minion id: the answer to a whole copy, or a map of answers by path for a copy in pieces. */
  readonly #results = new Map<string, Value>();
  #isComplete = true;
  #lateJid: string | undefined;

  constructor(client: MasterClient, display: Display, call: Call, explain: () => Promise<void>) {
    this.#client = client;
    this.#display = display;
    this.#call = call;
    this.#explain = explain;
  }

  /** True if every minion answered. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The last job that a minion may still answer. */
  get lateJid(): string | undefined {
    return this.#lateJid;
  }

  results(): ValueMap {
    return new Map(this.#results);
  }

  /** Copies all files in one job. */
  async whole(files: ReadonlyMap<string, string>, destination: string): Promise<void> {
    const answers = await this.#run("cp.recv", { files, dest: destination }, this.#call);
    for (const [id, answer] of answers ?? []) this.#results.set(id, answer);
  }

  /** Sends a job for each piece and for each empty directory. */
  async inPieces(
    files: readonly SourceFile[],
    directories: readonly string[],
    pieces: { readonly pieceBytes: number; readonly isCompressed: boolean },
  ): Promise<void> {
    for (const file of files) {
      if (!(await this.#copyFile(file, pieces.pieceBytes, pieces.isCompressed))) return;
    }
    for (const path of directories) {
      const answers = await this.#run("cp.recv_chunked", { dest: path, chunk: null }, this.#call);
      if (answers === undefined) return;
      for (const [id, answer] of answers) this.#note(id, path, answer);
    }
  }

  /**
   * Sends further pieces only to minions that have all former ones, because a piece after a gap would silently corrupt the file.
   *
   * @returns false if no minion matched
   */
  async #copyFile(file: SourceFile, pieceBytes: number, isCompressed: boolean): Promise<boolean> {
    let call = this.#call;
    let isAppended = false;
    for await (const piece of piecesOf(file.path, pieceBytes)) {
      const chunk = (isCompressed ? await compress(piece) : piece).toString("base64");
      const { remotePath: dest, mode } = file;
      const values = { dest, chunk, append: isAppended, compressed: isCompressed, mode };
      const answers = await this.#run("cp.recv_chunked", values, call);
      if (answers === undefined) return isAppended;
      for (const [id, answer] of answers) this.#note(id, dest, answer);
      const whole = [...answers].filter(([, answer]) => answer === true).map(([id]) => id);
      if (whole.length === 0) return true;
      call = { ...this.#call, target: whole, targetKind: "list" };
      isAppended = true;
    }
    return true;
  }

  #note(id: string, path: string, answer: Value): void {
    const ofMinion = this.#results.get(id);
    if (ofMinion instanceof Map) ofMinion.set(path, answer);
    else this.#results.set(id, new Map([[path, answer]]));
  }

  /**
   * Passes values by name: minions read a positional text such as `abc=` as a keyword, and Base64 can end with `=`.
   *
   * @returns each minion's answer, or a text if it was silent; undefined if no minion matched, after a message to the operator
   */
  async #run(
    fun: string,
    values: { readonly [name: string]: Encodable },
    call: Call,
  ): Promise<Map<string, Value> | undefined> {
    const args = [{ [keywordMark]: true, ...values }];
    const running = await this.#client.run({ ...call, fun, args });
    if (running === undefined) {
      this.#display.line(noMatchText);
      await this.#explain();
      return undefined;
    }
    const answers = new Map<string, Value>();
    try {
      for await (const event of running.events()) {
        if (event.kind === "return") {
          answers.set(event.id, event.value);
          continue;
        }
        this.#isComplete = false;
        const text = silentText(event.kind === "silent" ? event.reason : "No response", running.jid);
        if (namesLookup(text)) this.#lateJid = running.jid;
        answers.set(event.id, text);
      }
    } finally {
      running.close();
    }
    return answers;
  }
}
