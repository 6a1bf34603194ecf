/** The options of `saltworks bench`, `saltworks tune` and `saltworks size`, commands that Salt does not have. */
import { type CommandTable, choice, flag, int, text, texts } from "./option.ts";

const firstOptions = {
  isVersionAsked: flag(["--version"], "Show the version and exit."),
  isHelpAsked: flag(["-h", "--help"], "Show this help and exit."),
};

/** The size of the load. A scenario that lacks the parameter refuses the option. */
const loadOptions = {
  minions: int(["--minions"], "N", "Simulated minions; the same as --set minions=N."),
  rate: int(["--rate"], "R", "Operations a second; the same as --set rate=R."),
  seconds: int(["--seconds"], "S", "Length of the measured span; the same as --set seconds=S."),
  set: texts(
    ["--set"],
    "KEY=VALUE",
    "Give a parameter of the scenario another value than its default. May be given several times; --list names them.",
  ),
};

const masterOptions = {
  workers: int(["--workers"], "W", "worker_threads of the master."),
  members: int(
    ["--members"],
    "N",
    "Run a cluster of N masters on this machine, 3 to 5, each with its own nats-server, and spread the minions over them.",
  ),
  masterConfig: texts(
    ["--master-config"],
    "KEY=VALUE",
    "Give an option of the master's configuration this value. May be given several times.",
  ),
};

const outputOptions = {
  outputDirectory: text(["--output"], "DIR", "Write the result file to this directory. Default: 'bench-results'."),
  isJson: flag(["--json"], "Print the whole result as one line of JSON."),
};

const benchOwnOptions = {
  isListAsked: flag(["--list"], "List the scenarios with their questions and parameters."),
  hours: int(["--hours"], "H", "record: how far back jobs are read. Default: 24."),
  isForced: flag(["--force"], "compare: show differences even if the results are not comparable."),
  reportFile: text(
    ["-o", "--out-file"],
    "FILE",
    "report, trend: the file to write. Default: the result's path, with .html instead of .json; trend-SCENARIO.html in the directory of --output.",
  ),
};

const thresholdOptions = {
  failIf: texts(
    ["--fail-if"],
    "CONDITION",
    "End with exit code 3 if a run crosses this, such as return.p99>50ms or cpu.perOperation>100us. May be given several times.",
  ),
};

const sweepOptions = {
  sweep: text(
    ["--sweep"],
    "KEY=VALUES",
    "Run once for each of these values of a parameter, such as minions=1000,4000,16000, and write one result.",
  ),
};

const repeatOptions = {
  repeats: int(
    ["--repeats"],
    "N",
    "Run the scenario this many times, for confidence intervals. Default: 1; 4 with --against.",
  ),
};

const runningOptions = {
  master: text(
    ["--master"],
    "HOST",
    "Load a master that runs already, ours or Salt's, instead of one that the bench starts. Its minions' keys stay there.",
  ),
  ports: text(
    ["--ports"],
    "PUBLISH,REQUEST",
    "The running master's ports. Default: its configuration's, else 4505,4506.",
  ),
  configDir: text(
    ["-c", "--config-dir"],
    "DIR",
    "The running master's configuration on this machine: the bench then publishes jobs and reads the job cache.",
  ),
  pid: int(["--pid"], "PID", "The running master's first process on this machine, for its CPU and memory."),
  metrics: text(
    ["--metrics"],
    "URL",
    "The running Saltworks master's metrics, for its CPU and memory from another host.",
  ),
  keyDirectory: text(
    ["--keys"],
    "DIR",
    "Keys of simulated minions, as 'saltworks bench keys DIR' writes them. Default: keys that the operator accepts during the run.",
  ),
};

const peerOptions = {
  against: choice(
    ["--against"],
    "PEER",
    ["salt", "floor", "alone"],
    "Run the same load by turns on this master and a peer: 'salt' is a real Salt master, 'floor' a minimal C program, 'alone' one of our masters beside the cluster of --members.",
  ),
  salt: texts(
    ["--salt"],
    "VENV",
    "The virtual environment that Salt is installed in. May be given several times, for several releases. Default: SALTWORKS_SALT_VENV.",
  ),
};

const agentOptions = {
  agents: text(
    ["--agents"],
    "HOST:PORT,..",
    "Generate the load on these hosts, on each of which an agent runs, instead of on this one.",
  ),
  agentSecret: text(["--agent-secret"], "FILE", "The secret that this bench shares with its agents."),
  listen: text(["--listen"], "HOST:PORT", "agent: where to listen. Default: 127.0.0.1:4530. Port 0: a free one."),
  secretFile: text(["--secret"], "FILE", "agent: the secret that a bench must have, at least 32 bytes."),
  newSecretFile: text(["--new-secret"], "FILE", "agent: write a new secret to this file, and end."),
};

type BenchOptions = typeof firstOptions &
  typeof benchOwnOptions &
  typeof loadOptions &
  typeof masterOptions &
  typeof repeatOptions &
  typeof peerOptions &
  typeof runningOptions &
  typeof agentOptions &
  typeof sweepOptions &
  typeof thresholdOptions &
  typeof outputOptions;

export const benchCommand: CommandTable<BenchOptions> = {
  program: "saltworks bench",
  usage:
    "saltworks bench <scenario> [options]\n       saltworks bench <workload.yaml> [options]\n       saltworks bench compare <result.json> <result.json>\n       saltworks bench report <result.json>\n       saltworks bench trend <result.json or directory>...\n       saltworks bench keys <directory> --minions N\n       saltworks bench record <workload.yaml> -c DIR\n       saltworks bench agent --secret FILE",
  about:
    "Drives a master with simulated minions, measures it, and writes one result file. The master is one of its own, so that no other program is touched, unless --master or --config-dir names one that runs already.",
  groups: [
    { title: "", options: { ...firstOptions, ...benchOwnOptions } },
    { title: "Load Options", options: { ...loadOptions, ...sweepOptions, ...repeatOptions } },
    { title: "Master Options", options: { ...masterOptions, ...peerOptions } },
    { title: "Options for a Master That Runs Already", options: runningOptions },
    { title: "Generator Host Options", options: agentOptions },
    { title: "Output Options", options: { ...thresholdOptions, ...outputOptions } },
  ],
  unavailable: [],
};

const tuneOptions = {
  isQuick: flag(
    ["--quick"],
    "Take only a few minutes: fewer values, shorter spans, one repeat. The figures are less certain.",
  ),
  p99Ms: int(["--p99-ms"], "MS", "Latency objective: the highest rate whose 99th percentile stays below. Default: 50."),
  workersMax: int(["--workers-max"], "W", "Most worker_threads to try. Default: twice the cores, at least 4."),
  minutesMax: int(["--minutes"], "N", "End after this many minutes, with the settings that are known by then."),
  isBusyAllowed: flag(
    ["--on-busy-machine"],
    "Go on where other programs take more than 10 % of the CPU time. Without it the tuner asks on a terminal, and refuses elsewhere.",
  ),
  writeFile: text(["--write"], "FILE", "Write the settings to this file, such as /etc/salt/master.d/tuned.conf."),
  resumeFile: text(
    ["--resume"],
    "RESULT",
    "Continue an earlier run that ended early, with the points that it measured.",
  ),
};

type TuneOptions = typeof firstOptions &
  typeof tuneOptions &
  typeof loadOptions &
  typeof repeatOptions &
  typeof outputOptions;

export const tuneCommand: CommandTable<Omit<TuneOptions, "rate">> = {
  program: "saltworks tune",
  usage: "saltworks tune [options]",
  about:
    "Finds worker_threads, batch limits and batches in flight for this machine: runs return storms against a master of its own and prints settings with a reason for each. Ctrl-C ends it early with the settings that are known by then.",
  groups: [
    { title: "", options: { ...firstOptions, ...tuneOptions } },
    {
      title: "Load Options",
      options: { minions: loadOptions.minions, seconds: loadOptions.seconds, set: loadOptions.set, ...repeatOptions },
    },
    { title: "Output Options", options: outputOptions },
  ],
  unavailable: [],
};

const fleetOptions = {
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
  minutes: int(["--minutes"], "M", "With --calibrate: about how long, on a quiet machine. Default: 10."),
  calibrationFile: text(["--calibration"], "FILE", "Use this calibration. Default: the one that comes with Saltworks."),
};

const planOptions = {
  isChecking: flag(
    ["--check"],
    "Run the plan's peak with simulated minions on this machine, and compare. Exit code 0 only if each figure is within 25 %.",
  ),
  workloadFile: text(["--workload"], "FILE", "Write the plan's peak as a workload file."),
  outputDirectory: text(["--output"], "DIR", "Write a calibration to this directory. Default: 'bench-results'."),
  isJson: flag(["--json"], "Print the plan as one line of JSON."),
};

type SizeOptions = typeof firstOptions & typeof fleetOptions & typeof calibrationOptions & typeof planOptions;

export const sizeCommand: CommandTable<SizeOptions> = {
  program: "saltworks size",
  usage: "saltworks size [options]\n       saltworks size --calibrate [options]",
  about:
    "Plans a master for a fleet: cores, worker_threads, memory, disk, network, descriptors and kernel settings, what breaks first, and how sure each figure is. It changes nothing.",
  groups: [
    { title: "", options: firstOptions },
    { title: "Fleet Options", options: fleetOptions },
    { title: "Calibration Options", options: calibrationOptions },
    { title: "Output Options", options: planOptions },
  ],
  unavailable: [],
};
