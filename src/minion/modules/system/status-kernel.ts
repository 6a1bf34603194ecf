/** Execution module `status`: counters and tables of the kernel in /proc. */

import { statfsSync } from "node:fs";
import { loadavg } from "node:os";
import { compileGlob } from "../../../python/fnmatch.ts";
import { reprOf, strOf } from "../../../python/repr.ts";
import { type Encodable, floatItem, intItem, type Value } from "../../../wire/values.ts";
import { commandError, pythonException } from "../../functions/errors.ts";
import type { CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { signature } from "../declare/signature.ts";
import { isFileError, readTextIfAny } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";

type Table = Map<Value, Encodable>;

/** A function without parameters that reads one file of /proc line by line. Without the file it gets an empty list. */
function tableFunction(text: string, name: string, file: string, read: (lines: string[]) => Encodable): ModuleFunction {
  return {
    ...signature(""),
    doc: describe(text, `status.${name}`),
    run: () => read((readTextIfAny(file) ?? "").split("\n").filter((line) => line !== "")),
  };
}

export const kernelFunctions: ModuleFunctions = {
  "status.loadavg": {
    ...signature(""),
    doc: describe("The load of the last one, five and fifteen minutes.", "status.loadavg"),
    run: () => {
      const [one = 0, five = 0, fifteen = 0] = loadavg();
      return { "1-min": floatItem(one), "5-min": floatItem(five), "15-min": floatItem(fifteen) };
    },
  },
  "status.meminfo": tableFunction("How memory is used.", "meminfo", "/proc/meminfo", memoryTable),
  "status.cpuinfo": tableFunction("The last processor's description.", "cpuinfo", "/proc/cpuinfo", processorTable),
  "status.cpustats": tableFunction("What the processors spent their time on.", "cpustats", "/proc/stat", cpuTable),
  "status.vmstats": tableFunction("Counters of the virtual memory.", "vmstats", "/proc/vmstat", (lines) =>
    tableOf(lines.map((line) => line.split(" ")).map(([name = "", value = ""]) => [name, numberText(value)])),
  ),
  "status.diskstats": tableFunction(
    "Reads and writes of each block device.",
    "diskstats",
    "/proc/diskstats",
    diskTable,
  ),
  "status.netstats": tableFunction("Counters of the network protocols.", "netstats", "/proc/net/netstat", netstatTable),
  "status.netdev": tableFunction("Counters of each network interface.", "netdev", "/proc/net/dev", interfaceTable),
  "status.version": {
    ...signature(""),
    doc: describe("The kernel's version text.", "status.version"),
    run: () => readTextIfAny("/proc/version")?.trim() ?? new Map<Value, Value>(),
  },
  "status.nproc": {
    ...signature(""),
    doc: describe("The number of processors that can be used.", "status.nproc"),
    run: async () => numberText((await runProgram("nproc", [])).stdout.trim()),
  },
  "status.uptime": {
    ...signature(""),
    doc: describe("How long the machine has been up, since when, and the number of logins.", "status.uptime"),
    run: uptime,
  },
  "status.diskusage": {
    ...signature("*args"),
    doc: describe(
      "Total and available bytes of all filesystems, of the given paths, or of the types that match a glob.",
      "status.diskusage",
      "status.diskusage / /tmp ext?",
    ),
    run: (context, args) => diskUsage(context, args.rest.map(strOf)),
  },
};

/** The text as a number if it is one. */
function numberText(text: string): Encodable {
  if (/^\d+$/.test(text)) return intItem(BigInt(text));
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? floatItem(Number(text)) : text;
}

function tableOf(pairs: readonly (readonly [string, Encodable])[]): Table {
  return new Map(pairs);
}

function memoryTable(lines: readonly string[]): Table {
  return tableOf(
    lines.map((line) => {
      const [name = "", value = "", unit] = line.split(/\s+/);
      return [name.replaceAll(":", ""), unit === undefined || unit === "" ? { value } : { value, unit }];
    }),
  );
}

function processorTable(lines: readonly string[]): Table {
  return tableOf(
    lines.map((line) => {
      const [name = "", value = ""] = line.split(":").map((part) => part.trim());
      return [name, name === "flags" ? value.split(/\s+/) : value];
    }),
  );
}

function cpuTable(lines: readonly string[]): Table {
  return tableOf(
    lines.map((line) => {
      const [name = "", ...texts] = line.trim().split(/\s+/);
      const numbers = texts.map(numberText);
      const [user, nice, system, idle, iowait, irq, softirq, steal] = numbers;
      if (name === "cpu") return [name, { idle, iowait, irq, nice, softirq, steal, system, user }];
      if (name === "intr") return [name, { total: user, irqs: numbers.slice(1) }];
      if (name === "softirq") return [name, { total: user, softirqs: numbers.slice(1) }];
      return [name, user];
    }),
  );
}

const diskColumns = [
  ...["major", "minor", "device", "reads_issued", "reads_merged", "sectors_read", "ms_spent_reading"],
  ...["writes_completed", "writes_merged", "sectors_written", "ms_spent_writing"],
  ...["io_in_progress", "ms_spent_in_io", "weighted_ms_spent_in_io"],
];

function diskTable(lines: readonly string[]): Table {
  return tableOf(
    lines.map((line) => {
      const words = line.trim().split(/\s+/);
      return [words[2] ?? "", tableOf(diskColumns.map((name, index) => [name, numberText(words[index] ?? "")]))];
    }),
  );
}

/** Reads pairs of lines: `TcpExt: names ...`, then `TcpExt: numbers ...`. */
function netstatTable(lines: readonly string[]): Table {
  const table: Table = new Map();
  let header: string[] = [];
  for (const words of lines.map((line) => line.split(/\s+/))) {
    if (words[0] !== header[0]) {
      header = words;
      continue;
    }
    const row = header.slice(1).map((name, index): [string, Encodable] => [name, numberText(words[index + 1] ?? "")]);
    table.set((header[0] ?? "").replaceAll(":", ""), tableOf(row));
  }
  return table;
}

const interfaceColumns = [
  ...["rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"],
  ...["tx_bytes", "tx_packets", "tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier", "tx_compressed"],
];

function interfaceTable(lines: readonly string[]): Table {
  return tableOf(
    lines
      .filter((line) => line.includes(":"))
      .map((line) => {
        const colon = line.indexOf(":");
        const name = line.slice(0, colon).trim();
        const words = line
          .slice(colon + 1)
          .trim()
          .split(/\s+/);
        const counters = interfaceColumns.map((column, index): [string, Encodable] => [
          column,
          numberText(words[index] ?? ""),
        ]);
        return [name, tableOf([["iface", name], ...counters])];
      }),
  );
}

async function uptime(): Promise<Encodable> {
  const text = readTextIfAny("/proc/uptime");
  if (text === undefined) throw commandError("File /proc/uptime was not found.");
  const seconds = Math.trunc(Number(text.split(" ")[0]));
  const nowMs = Date.now();
  const since = new Date(nowMs - seconds * 1_000);
  const ofDay = seconds % 86_400;
  const who = await runProgram("who", ["-s"]);
  return {
    seconds,
    since_iso: `${since.toISOString().slice(0, -1)}000`,
    since_t: Math.trunc(nowMs / 1_000 - seconds),
    days: Math.floor(seconds / 86_400),
    time: `${Math.floor(ofDay / 3_600)}:${Math.floor((ofDay % 3_600) / 60)}`,
    // Salt counts the lines of `who`, and an empty output has one.
    users: who.isFound ? who.stdout.trimEnd().split("\n").length : undefined,
  };
}

function diskUsage(context: CallContext, words: readonly string[]): Encodable {
  const usage: Table = new Map();
  for (const path of words.filter((word) => word.startsWith("/"))) usage.set(path, spaceOf(path));
  const types = words.filter((word) => !word.startsWith("/"));
  const globs = (words.length === 0 ? ["*"] : types).map(compileGlob);
  for (const [path, type] of mounts()) {
    if (usage.has(path) || !globs.some((glob) => glob.matches(type))) continue;
    try {
      usage.set(path, spaceOf(path));
    } catch (error) {
      // Skips a mount that cannot be read, for example because it is another user's or its server is gone.
      context.log.warn(`The filesystem at ${path} cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  }
  return usage;
}

/** Mount point and type; blanks in paths are written `\040`. */
function mounts(): [string, string][] {
  const lines = (readTextIfAny("/proc/mounts") ?? "").split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [, path = "", type = ""] = line.split(" ");
    return [path.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))), type];
  });
}

const pythonErrors: { readonly [code: string]: readonly [string, string] } = {
  ENOENT: ["FileNotFoundError", "[Errno 2] No such file or directory"],
  EACCES: ["PermissionError", "[Errno 13] Permission denied"],
};

function spaceOf(path: string): Encodable {
  try {
    const { bsize, bavail, blocks } = statfsSync(path, { bigint: true });
    return { available: intItem(bavail * bsize), total: intItem(blocks * bsize) };
  } catch (error) {
    if (!isFileError(error)) throw error;
    const [name, text] = pythonErrors[error.code ?? ""] ?? ["OSError", `[Errno ${-(error.errno ?? 0)}] ${error.code}`];
    throw pythonException(name, `${text}: ${reprOf(path)}`);
  }
}
