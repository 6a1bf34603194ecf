/**
 * Collects this machine's grains: first the detected ones, then the file `grains` beside the configuration, then `grains:` in the configuration.
 * Source: names and values of Salt 3007, docs/functions.md.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { saltReleaseFollowed } from "../../../config/host/program.ts";
import type { MinionConfig } from "../../../config/load.ts";
import { asValue, type ValueMap } from "../../../wire/values.ts";
import type { ModuleLog } from "../../functions/module-contract.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { mergedMaps } from "../declare/merge.ts";
import type { Environment } from "../machine/environment.ts";
import { readTextIfAny } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";
import { findUserById, groupNameOf } from "../machine/user-database.ts";
import { which } from "../machine/which.ts";
import { readGrainsFile } from "./file.ts";
import {
  diskGrains,
  efiGrains,
  firmwareGrains,
  graphicsGrains,
  memoryGrains,
  processorGrains,
  raidGrains,
} from "./hardware.ts";
import { networkGrains } from "./network.ts";
import { type Grains, osGrains } from "./os.ts";
import { virtualGrains } from "./virtual.ts";

export type GrainsOptions = {
  readonly config: MinionConfig;
  /** Variables of the minion's process. */
  readonly environment: Environment;
  readonly log: ModuleLog;
};

export async function collectGrains({ config, environment, log }: GrainsOptions): Promise<ValueMap> {
  const [os, network, virtual, graphics, process, locale] = await Promise.all([
    osGrains(environment),
    networkGrains(config.enable_fqdns_grains),
    virtualGrains(environment),
    graphicsGrains(environment),
    processGrains(environment),
    localeGrain(environment),
  ]);
  const found: Grains = {
    ...process,
    ...network,
    ...machineId(),
    id: config.id,
    master: Array.isArray(config.master) ? config.master : String(config.master),
    server_id: serverId(config.id),
    ...locale,
    ...os,
    ...processorGrains(),
    ...memoryGrains(),
    ...firmwareGrains(),
    ...virtual,
    ...graphics,
    ...diskGrains(),
    ...raidGrains(),
    ...efiGrains(),
    ps: virtual.virtual === "openvzhn" ? psInContainerHost : "ps -efHww",
    fibre_channel_host: existsSync("/sys/class/fc_host"),
    transactional: which("transactional-update", environment) !== undefined,
    saltversion: saltReleaseFollowed.text,
    saltversioninfo: saltReleaseFollowed.info,
    ...(config.append_domain === "" ? {} : { append_domain: config.append_domain }),
  };
  return withOverrides(asValue(found) as ValueMap, config, log);
}

/** A grain of a later source replaces one of an earlier source; with `grains_deep_merge` maps are merged instead. */
function withOverrides(found: ValueMap, config: MinionConfig, log: ModuleLog): ValueMap {
  const file = readGrainsFile(grainsFileOf(config), log);
  const configured = configToValue(config.grains);
  const merge = (base: ValueMap, over: ValueMap) =>
    config.grains_deep_merge ? mergedMaps(base, over) : new Map([...base, ...over]);
  return merge(merge(found, file), configured instanceof Map ? configured : new Map());
}

/** The file in which `grains.setval` keeps grains. */
export function grainsFileOf(config: Pick<MinionConfig, "configDir">): string {
  return join(config.configDir, "grains");
}

/** Command of the grain `ps` on a host of OpenVZ containers: leaves out the processes inside the containers. */
const psInContainerHost =
  'ps -fH -p $(grep -l "^envID:[[:space:]]*0\\$" /proc/[0-9]*/status | sed -e "s=/proc/\\([0-9]*\\)/.*=\\1=")  ' +
  "| awk '{ $7=\"\"; print }'";

async function processGrains(environment: Environment): Promise<Grains> {
  const uid = process.geteuid?.() ?? 0;
  const user = await findUserById(uid);
  const path = (environment.PATH ?? "").trim();
  return {
    cwd: process.cwd(),
    path,
    systempath: path.split(":"),
    shell: environment.SHELL ?? "/bin/sh",
    pid: process.pid,
    uid,
    gid: process.getegid?.() ?? 0,
    username: user?.name ?? String(uid),
    groupname: user === undefined ? "" : ((await groupNameOf(user.gid)) ?? ""),
  };
}

/** The id's SHA-256 modulo 2^31: the same number in every run and release. */
function serverId(id: string): number {
  const digest = createHash("sha256").update(id).digest("hex");
  return Number(BigInt(`0x${digest}`) % 2n ** 31n);
}

function machineId(): Grains {
  const text = readTextIfAny("/etc/machine-id") ?? readTextIfAny("/var/lib/dbus/machine-id");
  return text === undefined ? {} : { machine_id: text.trim() };
}

/** The locale C counts as en_US with UTF-8, because Python turns it into C.UTF-8. */
async function localeGrain(environment: Environment): Promise<Grains> {
  const name = environment.LC_ALL || environment.LC_CTYPE || environment.LANG || "C";
  const [language = "C", encoding = "UTF-8"] = name.split("@")[0]?.split(".") ?? [];
  const isPlain = language === "C" || language === "POSIX";
  return {
    locale_info: {
      defaultlanguage: isPlain ? "en_US" : language,
      defaultencoding: encoding.toUpperCase() === "UTF8" ? "UTF-8" : encoding,
      detectedencoding: "utf-8",
      timezone: (await runProgram("date", ["+%Z"])).stdout.trim() || "unknown",
    },
  };
}
