/** Limit metrics of pushed files. */
import type { MasterConfig } from "../../config/load.ts";
import { pushedCountWaitMs } from "../../limits.ts";
import type { FileAnswers } from "../answers/files.ts";

/** Samples one limit: how much of it is in use, and how often it was met. */
export type Limit = (name: string, used: number, max: number, hits: number | undefined) => void;

const mebibyte = 1024 * 1024;

/** For the bounds of one file and of one minion only refusals are counted, because only the file lane knows their use. */
export function samplePushLimits(
  limit: Limit,
  { pushRefusals, pushed }: Pick<FileAnswers, "pushRefusals" | "pushed">,
  config: MasterConfig,
): void {
  for (const name of ["file_recv_max_size", "file_recv_minion_max_size", "file_recv_minion_max_files"] as const)
    limit(name, 0, config[name], pushRefusals[name]);
  const { file_recv_total_max_size: size, file_recv_total_max_files: files } = config;
  limit("file_recv_total_max_size", pushed.bytes / mebibyte, size, pushRefusals.file_recv_total_max_size);
  limit("file_recv_total_max_files", pushed.entries, files, pushRefusals.file_recv_total_max_files);
  limit("pushedCountWaitMs", 0, pushedCountWaitMs, pushRefusals.uncounted);
}
