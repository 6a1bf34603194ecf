/** Execution module `disk`: use of the filesystems, and facts of block devices. Source: Salt 3007's `disk`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { runProgram } from "../machine/run-program.ts";

type Columns = { readonly [name: string]: string };

export const diskModule: ModuleFunctions = {
  "disk.usage": {
    ...signature("args=None"),
    doc: describe(
      "Size and use of each filesystem by mount point, in blocks of a kibibyte; `args` are flags of df.",
      "disk.usage",
    ),
    run: async (_, args) => {
      const rows = await filesystems(["-P", ...flagsOf(argument(args, "args"), "disk.usage")]);
      return byMountPoint(rows, ([filesystem, blocks, used, available, capacity]) => ({
        filesystem,
        "1K-blocks": blocks,
        used,
        available,
        capacity,
      }));
    },
  },
  "disk.inodeusage": {
    ...signature("args=None"),
    doc: describe("Number and use of inodes of each filesystem by mount point.", "disk.inodeusage"),
    run: async (_, args) => {
      const rows = await filesystems(["-iP", ...flagsOf(argument(args, "args"), "disk.inodeusage")]);
      return byMountPoint(rows, ([filesystem, inodes, used, free, use]) => ({ inodes, used, free, use, filesystem }));
    },
  },
  "disk.percent": {
    ...signature("args=None"),
    doc: describe("The percentage in use of each filesystem, or of the one mounted there.", "disk.percent /var"),
    run: async (context, args) => percentages(context, argument(args, "args")),
  },
  "disk.blkid": {
    ...signature("device=None, token=None"),
    doc: describe("Attributes of block devices.", "disk.blkid", "disk.blkid /dev/sda"),
    run: (_, args) => blockDevices(argument(args, "device"), argument(args, "token")),
  },
  "disk.fstype": {
    ...signature("device"),
    doc: describe("The type of the filesystem on a device.", "disk.fstype /dev/sdX1"),
    run: (_, args) => filesystemType(strOf(argument(args, "device"))),
  },
};

/** Flags of df, from a text of letters or a list of letters. @throws for a letter that is not allowed */
function flagsOf(flags: Value, caller: string): string[] {
  if (flags === null) return [];
  const letters = Array.isArray(flags) ? flags.map(strOf) : [...strOf(flags)];
  if (letters.some((letter) => !/^[aBhHiklPtTxv]$/.test(letter)))
    throw commandError(`Invalid flag passed to ${caller}`);
  return letters.length === 0 ? [] : [`-${letters.join("")}`];
}

/** Rows of df without the heading: name, four columns, mount point. A name may hold blanks; the mount point is last. */
async function filesystems(flags: readonly string[]): Promise<string[][]> {
  const { stdout } = await runProgram("df", flags);
  return stdout.split("\n").flatMap((line) => {
    if (line === "" || line.startsWith("Filesystem")) return [];
    const words = line.trim().split(/\s+/);
    while (words.length >= 2 && !/^\d+$/.test(words[1] ?? "")) words.splice(0, 2, `${words[0]} ${words[1]}`);
    return words.length < 6 ? [] : [words];
  });
}

function byMountPoint(
  rows: readonly string[][],
  columns: (row: readonly string[]) => { [name: string]: string | undefined },
): Encodable {
  return new Map(rows.map((row): [Value, Columns] => [row[5] ?? "", columns(row) as Columns]));
}

async function percentages(context: CallContext, mountPoint: Value): Promise<Encodable> {
  const rows = await filesystems(["-P"]);
  const found = new Map(rows.map((row): [Value, Value] => [row[5] ?? "", row[4] ?? ""]));
  if (!isTrue(mountPoint)) return found;
  const one = found.get(mountPoint);
  if (one !== undefined) return one;
  context.log.error(`Problem parsing disk usage information: Partition '${strOf(mountPoint)}' does not exist!`);
  return new Map<Value, Value>();
}

/** Reads the lines of blkid: `/dev/sda1: UUID="..." TYPE="ext4"`. */
async function blockDevices(device: Value, token: Value): Promise<Encodable> {
  const args = isTrue(device) ? [strOf(device)] : isTrue(token) ? ["-t", strOf(token)] : [];
  const { stdout, exitCode } = await runProgram("blkid", args);
  const devices = new Map<Value, Encodable>();
  if (exitCode !== 0) return devices;
  for (const line of stdout.split("\n")) {
    const match = /^(\S+): ?(.*)$/.exec(line);
    if (match === null) continue;
    const attributes = (match[2] ?? "").matchAll(/([^\s=]+)="([^"]*)"/g);
    devices.set(
      match[1] ?? "",
      new Map(Array.from(attributes, ([, name = "", value = ""]): [Value, Value] => [name, value])),
    );
  }
  return devices;
}

async function filesystemType(device: string): Promise<string> {
  const listed = (await runProgram("lsblk", ["-o", "fstype", device])).stdout.split("\n")[1]?.trim();
  if (listed !== undefined && listed !== "") return listed;
  return (await runProgram("df", ["-T", device])).stdout.split("\n")[1] ?? "";
}
