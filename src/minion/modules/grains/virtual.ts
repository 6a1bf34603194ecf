/** Grains `virtual` and `virtual_subtype`: the kind of machine. Source: the order in which Salt 3007 asks programs and the kernel. */
import { existsSync, statSync } from "node:fs";
import type { Environment } from "../machine/environment.ts";
import { isFileError, readTextIfAny } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";
import { which } from "../machine/which.ts";

type Virtual = { virtual: string; virtual_subtype?: string };
type Rule = { readonly test: RegExp; readonly is: Partial<Virtual> };

const container = (subtype: string): Partial<Virtual> => ({ virtual: "container", virtual_subtype: subtype });

/** Answers of systemd-detect-virt that become the grain unchanged. `detectRules` translates the others. */
const plainKinds = /^(qemu|kvm|oracle|xen|bochs|chroot|uml|systemd-nspawn)$/;
const detectRules: readonly Rule[] = [
  { test: /vmware/, is: { virtual: "VMware" } },
  { test: /microsoft/, is: { virtual: "VirtualPC" } },
  { test: /lxc/, is: container("LXC") },
  { test: /podman/, is: container("Podman") },
  { test: /docker/, is: container("Docker") },
  { test: /amazon/, is: { virtual: "Nitro", virtual_subtype: "Amazon EC2" } },
];
const virtWhatRules: readonly Rule[] = [
  { test: /^(kvm|ibm_power-kvm)$/m, is: { virtual: "kvm" } },
  { test: /^qemu$/m, is: { virtual: "qemu" } },
  { test: /^uml$/m, is: { virtual: "uml" } },
  { test: /^xen$/m, is: { virtual: "xen" } },
  { test: /lxc/, is: container("LXC") },
  { test: /docker/, is: container("Docker") },
  { test: /vmware/, is: { virtual: "VMware" } },
  { test: /parallels/, is: { virtual: "Parallels" } },
  { test: /hyperv/, is: { virtual: "HyperV" } },
  { test: /^ibm_power-lpar_shared$/m, is: { virtual: "LPAR", virtual_subtype: "shared" } },
  { test: /^ibm_power-lpar_dedicated$/m, is: { virtual: "LPAR", virtual_subtype: "dedicated" } },
];
const dmiRules: readonly Rule[] = [
  { test: /BHYVE/, is: { virtual: "bhyve" } },
  { test: /Manufacturer: oVirt/, is: { virtual: "kvm", virtual_subtype: "ovirt" } },
  { test: /Product Name: RHEV Hypervisor/, is: { virtual: "kvm", virtual_subtype: "rhev" } },
  { test: /VirtualBox/, is: { virtual: "VirtualBox" } },
  { test: /VMware/, is: { virtual: "VMware" } },
  { test: /: Microsoft[\s\S]*Virtual Machine/, is: { virtual: "VirtualPC" } },
  { test: /Parallels Software/, is: { virtual: "Parallels" } },
  { test: /(Vendor|Manufacturer): (QEMU|Bochs)|Manufacturer: Google|Vendor: SeaBIOS/, is: { virtual: "kvm" } },
];
const pciRules: readonly Rule[] = [
  { test: /vmware/i, is: { virtual: "VMware" } },
  { test: /virtualbox/i, is: { virtual: "VirtualBox" } },
  { test: /qemu|virtio/i, is: { virtual: "kvm" } },
];
const productRules: readonly Rule[] = [
  { test: /VirtualBox/, is: { virtual: "VirtualBox" } },
  { test: /RHEV Hypervisor/, is: { virtual: "kvm", virtual_subtype: "rhev" } },
  { test: /oVirt Node/, is: { virtual: "kvm", virtual_subtype: "ovirt" } },
  { test: /Google/, is: { virtual: "gce" } },
  { test: /BHYVE/, is: { virtual: "bhyve" } },
];
const cgroupRules: readonly Rule[] = [
  { test: /:\/lxc\//, is: container("LXC") },
  { test: /:\/kubepods\//, is: { virtual_subtype: "kubernetes" } },
  { test: /:\/libpod_parent\//, is: { virtual_subtype: "libpod" } },
  { test: /:\/(system\.slice\/docker|docker\/|docker-ce\/)/, is: container("Docker") },
];

function firstOf(rules: readonly Rule[], text: string): Partial<Virtual> | undefined {
  return rules.find(({ test }) => test.test(text))?.is;
}

export async function virtualGrains(environment: Environment): Promise<Virtual> {
  const grains: Virtual = { virtual: "physical", ...(await askPrograms(environment)), ...askKernel() };
  if (grains.virtual_subtype !== undefined && grains.virtual === "physical") grains.virtual = "virtual";
  return grains;
}

/** The first program with an answer decides: virt-what alone if it exists, else systemd-detect-virt, dmidecode, lspci. */
async function askPrograms(environment: Environment): Promise<Partial<Virtual>> {
  const hasVirtWhat = which("virt-what", environment) !== undefined;
  for (const name of hasVirtWhat ? ["virt-what", "lspci"] : ["systemd-detect-virt", "dmidecode", "lspci"]) {
    const path = which(name, environment);
    if (path === undefined || (name === "lspci" && !existsSync("/proc/bus/pci"))) continue;
    const asked = await runProgram(path, []);
    if (asked.exitCode !== 0) continue;
    const output = asked.stdout.trim();
    if (name !== "systemd-detect-virt") {
      return firstOf(name === "virt-what" ? virtWhatRules : name === "dmidecode" ? dmiRules : pciRules, output) ?? {};
    }
    if (plainKinds.test(output)) return { virtual: output };
    const detected = firstOf(detectRules, output);
    if (detected !== undefined) return detected;
  }
  return {};
}

/** What the kernel shows. Later findings win: a container inside a virtual machine is a container. */
function askKernel(): Partial<Virtual> {
  const read = (path: string) => readTextIfAny(path) ?? "";
  return {
    ...(isChroot() ? { virtual_subtype: "chroot" } : {}),
    ...openVz(),
    ...xen(),
    ...(read("/proc/cpuinfo").includes("QEMU Virtual CPU") ? { virtual: "kvm" } : {}),
    ...firstOf(productRules, read("/sys/devices/virtual/dmi/id/product_name")),
    ...firstOf(cgroupRules, read("/proc/1/cgroup")),
    ...(read("/proc/1/environ").includes("container=lxc") ? container("LXC") : {}),
  };
}

function isChroot(): boolean {
  try {
    const [own, first] = [statSync("/"), statSync("/proc/1/root/.")];
    return own.ino !== first.ino || own.dev !== first.dev;
  } catch (error) {
    if (isFileError(error)) return false;
    throw error;
  }
}

function openVz(): Partial<Virtual> {
  const container = /^envID:\s+(\d+)$/m.exec(readTextIfAny("/proc/self/status") ?? "")?.[1];
  if (container !== undefined) return { virtual: container === "0" ? "openvzhn" : "openvzve" };
  if (existsSync("/proc/vz/version")) return { virtual: "openvzhn" };
  return existsSync("/proc/vz/veinfo") ? { virtual: "openvzve" } : {};
}

function xen(): Partial<Virtual> {
  if (!["/proc/sys/xen", "/sys/bus/xen", "/proc/xen"].some((path) => existsSync(path))) return {};
  if (existsSync("/proc/xen/xsd_kva")) return { virtual: "xen", virtual_subtype: "Xen Dom0" };
  if (readTextIfAny("/sys/class/dmi/id/product_name")?.trim() === "HVM domU") {
    return { virtual: "xen", virtual_subtype: "Xen HVM DomU" };
  }
  const capabilities = readTextIfAny("/proc/xen/capabilities");
  if (capabilities !== undefined) {
    return { virtual: "xen", virtual_subtype: capabilities.includes("control_d") ? "Xen Dom0" : "Xen PV DomU" };
  }
  return existsSync("/sys/bus/xen/drivers/xenconsole") ? { virtual: "xen", virtual_subtype: "Xen PV DomU" } : {};
}
