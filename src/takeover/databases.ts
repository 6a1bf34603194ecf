/** What becomes of the job caches that the configuration names, and of the databases whose packages are not installed. */
import type { Settings } from "../config/files/settings.ts";
import type { MasterConfig } from "../config/load.ts";
import { unfedDatabaseFault } from "../config/options/job-cache-drivers.ts";
import { checkEventPackages } from "../databases/events/registry.ts";
import { checkDatabasePackages } from "../databases/registry.ts";
import { SaltworksError } from "../errors.ts";
import { checkSourcePackages } from "../pillar/external/merge-sources.ts";
import { pillarSettings } from "../pillar/input/settings.ts";
import { unreadCacheFaults } from "../sidecar/availability.ts";
import { type Finding, placed } from "./finding.ts";

/** Salt's returners that only write: Salt's own runners cannot read them, either. Source: the returners without `get_jid` of Salt 3006 to 3008. */
const writeOnlyReturners: ReadonlySet<string> = new Set([
  ...["appoptics", "carbon", "elasticsearch", "highstate", "kafka", "librato", "local", "mattermost", "nagios_nrdp"],
  ...["pushover", "rawfile_json", "sentry", "slack", "slack_webhook", "sms", "smtp", "splunk", "syslog", "telegram"],
  ...["xmpp", "zabbix"],
]);

/** Findings on `master_job_cache`, `ext_job_cache`, and the packages of all databases. */
export function databaseFindings(config: MasterConfig, settings: Settings): readonly Finding[] {
  return [
    ...unreadCacheFaults(config).map((fault) => unreadFinding(fault, config.ext_job_cache, settings)),
    ...unfedDatabaseFault(config).map((fault) => unfedFinding(fault, settings)),
    ...packageFindings(config),
  ];
}

function unreadFinding(fault: string, returner: string, settings: Settings): Finding {
  const place = placed(settings.get("ext_job_cache"));
  if (writeOnlyReturners.has(returner)) {
    const about = `minions return to '${returner}', which only writes: as in Salt, runners do not find these returns`;
    return { verdict: "kept", name: "ext_job_cache", ...place, about };
  }
  const about = fault.replace(/^ext_job_cache: /, "");
  return { verdict: "lost", name: "ext_job_cache", about, ...place, plugins: [{ kind: "job_cache", name: returner }] };
}

function unfedFinding(fault: string, settings: Settings): Finding {
  const about = fault.replace(/^master_job_cache: /, "");
  return { verdict: "changed", name: "master_job_cache", about, ...placed(settings.get("master_job_cache")) };
}

/** What a start refuses because a client library is not there. */
function packageFindings(config: MasterConfig): readonly Finding[] {
  const checks = [
    () => checkDatabasePackages(config),
    () => checkEventPackages(config),
    () => checkSourcePackages(pillarSettings(config)),
  ];
  return checks.flatMap((check): Finding[] => {
    try {
      check();
      return [];
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.code !== "PACKAGE_MISSING") throw error;
      return [{ verdict: "lost", name: "start", about: error.message }];
    }
  });
}
