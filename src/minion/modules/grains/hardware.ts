/** Grains about the machine: processors, memory, disks, firmware, graphics. Source: values of Salt 3007 on the same machine. */
import { existsSync, readlinkSync } from "node:fs";
import type { Environment } from "../machine/environment.ts";
import { namesIn, readTextIfAny } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";
import { which } from "../machine/which.ts";
import type { Grains } from "./os.ts";

export function processorGrains(cpuinfo = readTextIfAny("/proc/cpuinfo") ?? ""): Grains {
  let [count, model, flags]: [number, string, string[]] = [0, "Unknown", []];
  for (const line of cpuinfo.split("\n")) {
    const [left = "", right] = line.split(":");
    if (right === undefined) continue;
    const value = right.trim();
    const key = left.trim();
    if (key === "processor") count += 1;
    else if (key === "# processors") count = Number(value);
    else if (key === "vendor_id" || key === "model name" || key === "cpu") model = value;
    else if (key === "flags" || key === "Features") flags = value.split(/\s+/);
    else if (key === "Processor") [model, count] = [value.split("-")[0] ?? value, 1];
  }
  return { num_cpus: count, cpu_model: model, cpu_flags: flags };
}

/** Mebibytes. */
export function memoryGrains(meminfo = readTextIfAny("/proc/meminfo") ?? ""): Grains {
  const mebibytes = (name: string) => {
    const match = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(meminfo);
    return Math.floor(Number(match?.[1] ?? 0) / 1_024);
  };
  return { mem_total: mebibytes("MemTotal"), swap_total: mebibytes("SwapTotal") };
}

/** Physical block devices: rotating ones (`disks`) and others (`ssds`). */
export function diskGrains(): Grains {
  const disks: string[] = [];
  const ssds: string[] = [];
  for (const name of namesIn("/sys/block")) {
    if (readlinkSync(`/sys/block/${name}`).startsWith("../devices/virtual/")) continue;
    const flag = readTextIfAny(`/sys/block/${name}/queue/rotational`)?.[0];
    if (flag === "0") ssds.push(name);
    if (flag === "1") disks.push(name);
  }
  return { disks, ssds };
}

const firmwareFiles = {
  biosversion: "bios_version",
  biosvendor: "bios_vendor",
  boardname: "board_name",
  productname: "product_name",
  manufacturer: "sys_vendor",
  biosreleasedate: "bios_date",
  uuid: "product_uuid",
  serialnumber: "product_serial",
} as const;

/** Firmware data that the kernel shows and this user may read. Device trees have other names for it. */
export function firmwareGrains(): Grains {
  const grains: Grains = {};
  for (const [name, file] of Object.entries(firmwareFiles)) {
    const text = readTextIfAny(`/sys/class/dmi/id/${file}`)?.trim();
    if (text !== undefined) grains[name] = name === "uuid" ? text.toLowerCase() : text;
  }
  return { ...deviceTreeGrains(), ...grains };
}

function deviceTreeGrains(): Grains {
  const read = (name: string) => readTextIfAny(`/proc/device-tree/${name}`)?.replace(/\0+$/, "") || undefined;
  const model = read("model");
  const serial = read("serial-number") ?? read("system-id");
  const comma = model?.indexOf(",") ?? -1;
  const named =
    model === undefined
      ? {}
      : comma < 0
        ? { productname: model }
        : { manufacturer: model.slice(0, comma), productname: model.slice(comma + 1) };
  return { ...named, ...(serial === undefined ? {} : { serialnumber: serial }) };
}

export function efiGrains(): Grains {
  const directory = ["/sys/firmware/efi/efivars", "/sys/firmware/efi/vars"].find((path) => existsSync(path));
  if (directory === undefined) return { efi: false, "efi-secure-boot": false };
  const [variable, ...others] = namesIn(directory).filter((name) => name.startsWith("SecureBoot-"));
  const file = directory.endsWith("efivars") ? variable : `${variable}/data`;
  const content = variable === undefined || others.length > 0 ? undefined : readTextIfAny(`${directory}/${file}`);
  return { efi: true, "efi-secure-boot": content?.at(-1) === "\u0001" };
}

const graphicsClasses = ["3d controller", "display controller", "processing accelerators", "vga compatible controller"];
const graphicsVendors = ["nvidia", "amd", "ati", "intel", "cirrus logic", "vmware", "matrox", "aspeed"];

export async function graphicsGrains(environment: Environment): Promise<Grains> {
  const lspci = which("lspci", environment);
  const records = lspci === undefined ? "" : (await runProgram(lspci, ["-vmm"])).stdout;
  const gpus = records.split(/\n\n+/).flatMap((record) => {
    const fields = new Map(
      record.split("\n").map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
      }),
    );
    if (!graphicsClasses.includes((fields.get("Class") ?? "").toLowerCase())) return [];
    const words = (fields.get("Vendor") ?? "").toLowerCase().split(/[^a-z0-9]/);
    const vendor = graphicsVendors.find((name) => words.includes(name)) ?? "unknown";
    return [{ vendor, model: fields.get("Device") ?? "" }];
  });
  return { num_gpus: gpus.length, gpus };
}

/** Software RAIDs, if the kernel knows of any. */
export function raidGrains(): Grains {
  const text = readTextIfAny("/proc/mdstat");
  if (text === undefined) return {};
  const lines = text.split("\n").filter((line) => line.includes(" : ") && !line.startsWith("Personalities"));
  return { mdadm: [...new Set(lines.map((line) => line.split(" : ")[0] ?? ""))].sort() };
}
