/** What becomes of each option that the configuration sets. */
import { readSettings, type Setting } from "../config/files/settings.ts";
import type { MasterConfig } from "../config/load.ts";
import { missingPlugins, type UnbuiltSetting, unbuiltOptions } from "../config/options/unbuilt.ts";
import { type Fault, masterOptions } from "../config/schema.ts";
import type { SdbValue } from "../config/sdb.ts";
import { nearMissOf, type Standing, standingOf } from "../config/standing.ts";
import { loginFaults, missingLogins } from "../sidecar/availability.ts";
import { databaseFindings } from "./databases.ts";
import { type Finding, placed, placeOf } from "./finding.ts";
import { remoteFindings } from "./git-remotes.ts";

const role = { name: "master", table: masterOptions } as const;

const abouts: Readonly<Record<Exclude<Standing, "unbuilt" | "misspelt">, Pick<Finding, "verdict" | "about">>> = {
  acts: { verdict: "kept", about: "acts as in Salt" },
  kept: { verdict: "changed", about: "is read and checked, but nothing acts on it" },
  ignored: { verdict: "changed", about: "has no effect here" },
  elsewhere: { verdict: "kept", about: "is for another program of Salt's or for a plug-in, which reads it as before" },
  own: { verdict: "kept", about: "is not an option; templates and config.get see it, as in Salt" },
};

/** One finding for each option that is set, in the order of the files, and those on values with which no master starts. */
export function optionFindings(config: MasterConfig): readonly Finding[] {
  const settings = readSettings(config.configFile, String(masterOptions.default_include.default), []);
  const unbuilt = new Map(config.unbuilt.map((setting) => [setting.name, setting]));
  const found = Array.from(settings, ([name, setting]): Finding => {
    const standing = standingOf(name, setting, settings, role);
    const missing = unbuilt.get(name);
    if (missing !== undefined) return lostOption(missing);
    if (standing === "unbuilt") return { verdict: "kept", name, place: placeOf(setting), about: abouts.acts.about };
    if (standing === "misspelt") {
      const about = `is not an option; did you mean "${nearMissOf(name, masterOptions)}"? Salt does not act on it either`;
      return { verdict: "changed", name, place: placeOf(setting), about };
    }
    return { name, place: placeOf(setting), ...abouts[standing] };
  });
  const starts = config.startFaults.map((fault): Finding => refusal(fault));
  const external = settings.get("external_auth");
  const logins = external === undefined ? [] : loginFaults(config);
  const backends = missingLogins(config);
  return [
    ...found,
    ...starts,
    ...remoteFindings(config),
    ...config.sdbValues.map(sdbFinding),
    ...databaseFindings(config, settings),
    ...logins.map((fault, index): Finding => lostLogin(fault, external, backends[index] ?? "")),
  ];
}

function sdbFinding({ uri, driver, option, file, line }: SdbValue): Finding {
  const about = `${uri} is looked up by a Python with Salt, and without one the master refuses to start`;
  const plugins = [{ kind: "sdb", name: driver }] as const;
  return { verdict: "lost", name: option, place: placeOf({ file, line }), about, plugins };
}

function refusal(fault: Fault): Finding {
  return { verdict: "lost", name: "start", place: placeOf(fault), about: fault.message };
}

function lostOption(setting: UnbuiltSetting): Finding {
  const { name, file, line, parts, isAccepted, warns } = setting;
  const plugins = missingPlugins([setting]);
  const about = (unbuiltOptions[name]?.about ?? "").replace(/\.$/, "");
  const what = parts.length > 0 ? `${parts.join(", ")}: ` : "";
  const where = warns === undefined ? "" : ` Each ${warns} then has an error that names it.`;
  const start = isAccepted
    ? `accept_missing names it, so the master starts.${where}`
    : `The master refuses to start, unless accept_missing names it.${where}`;
  const lost = `${what}not built here (${about}). ${start}`;
  return { verdict: "lost", name, place: `${file}:${line}`, about: lost, ...(plugins.length > 0 && { plugins }) };
}

function lostLogin(fault: string, setting: Setting | undefined, backend: string): Finding {
  const about = fault.replace(/^external_auth: /, "");
  const plugins = [{ kind: "auth", name: backend }] as const;
  return { verdict: "lost", name: "external_auth", about, ...placed(setting), plugins };
}
