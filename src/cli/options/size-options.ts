/** The options of `saltworks size`, a command that Salt does not have. */
import { type CommandTable, flag, int, text, texts } from "./option.ts";

const firstOptions = {
  isVersionAsked: flag(["--version"], "Show the version and exit."),
  isHelpAsked: flag(["-h", "--help"], "Show this help and exit."),
};

const loadOptions = {
  minions: int(["--minions"], "N", "Minions of the fleet. Default: 1000."),
  jobs: texts(
    ["--job"],
    "JOB",
    "A job, such as 'state.apply,target=100%,a-day=48,bytes=lognormal:14000:1'. May be given several times. Default: test.ping to all each hour, state.apply to all twice a day.",
  ),
  retentionHours: int(["--retention-hours"], "H", "How long job results are kept. Default: 24."),
  pillarMs: text(["--pillar-ms"], "MS", "CPU time of one pillar. Default: that of the calibration."),
  pillarsPerDay: text(["--pillars-a-day"], "N", "Pillars of each minion, besides one for each state job. Default: 2."),
  eventsPerDay: text(["--events-a-day"], "N", "Events of each minion. Default: 24."),
  minePutsPerDay: text(["--mine-puts-a-day"], "N", "Updates of its mine of each minion. Default: 24."),
  mineGetsPerDay: text(["--mine-gets-a-day"], "N", "Reads of mines by the whole fleet. Default: 1000."),
  authsPerDay: text(["--auths-a-day"], "N", "Authentications of each minion. Default: 2."),
  peak: text(["--peak"], "FACTOR", "Rate of the busiest hour, divided by the day's mean. Default: 3."),
  growth: text(["--growth"], "PERCENT", "Growth of the fleet in a year, such as 30%. Default: 0%."),
  years: int(["--years"], "N", "Years of growth that the plan has room for. Default: 1 with --growth."),
};

const calibrationOptions = {
  isCalibrating: flag(["--calibrate"], "Run the scenarios of a calibration on this machine and write it to a file."),
  minutes: int(["--minutes"], "M", "With --calibrate: about how long, on a quiet machine. Default: 5."),
  calibrationFile: text(["--calibration"], "FILE", "Use this calibration. Default: the one that comes with Saltworks."),
};

const outputOptions = {
  isChecking: flag(
    ["--check"],
    "Run the plan's peak with simulated minions on this machine, and compare. Exit code 0 only if each figure is within 25 %.",
  ),
  workloadFile: text(["--workload"], "FILE", "Write the plan's peak as a workload file."),
  outputDirectory: text(["--output"], "DIR", "Write a calibration to this directory. Default: 'bench-results'."),
  isJson: flag(["--json"], "Print the plan as one line of JSON."),
};

type SizeOptions = typeof firstOptions & typeof loadOptions & typeof calibrationOptions & typeof outputOptions;

export const sizeCommand: CommandTable<SizeOptions> = {
  program: "saltworks size",
  usage: "saltworks size [options]\n       saltworks size --calibrate [options]",
  about:
    "Plans a master for a fleet: cores, worker_threads, memory, disk, network, descriptors and kernel settings, what breaks first, and how sure each figure is. It changes nothing.",
  groups: [
    { title: "", options: firstOptions },
    { title: "Fleet Options", options: loadOptions },
    { title: "Calibration Options", options: calibrationOptions },
    { title: "Output Options", options: outputOptions },
  ],
  unavailable: [],
};
