// Settings: their defaults, their place in the address, and the scale of eps.

export const DEFAULTS = Object.freeze({
  mapping: null,
  eps: 1,
  plus: false,
  calibration: "paper",
  policy: Object.freeze({ name: "strict" }),
});
export const PARTS = ["unknown", "numbers", "units", "case"];

const STEPS_PER_TEN = 20;
const LEAST = 0.1;
const MOST = 50;
export const GAP = 4; // steps between eps = 0 and the least other one, so that the two are apart on the scale
export const LAST_STEP = GAP + Math.round(STEPS_PER_TEN * Math.log10(MOST / LEAST));

// Step 0 is eps = 0. Beyond the gap, eps grows by the same factor from step to step, in two digits.
export function epsOfStep(step) {
  if (step < GAP) return 0;
  if (step >= LAST_STEP) return MOST;
  return Number((LEAST * 10 ** ((step - GAP) / STEPS_PER_TEN)).toPrecision(2));
}

// The labels below the scale, and where each is, as a share of its length.
export const TICKS = [0, 0.1, 1, 10, 50].map((eps) => [String(eps), stepOfEps(eps) / LAST_STEP]);

export function stepOfEps(eps) {
  if (eps <= 0) return 0;
  const step = GAP + Math.round(STEPS_PER_TEN * Math.log10(eps / LEAST));
  return Math.min(Math.max(step, GAP), LAST_STEP);
}

// The address names only what differs from the defaults. Texts are never part of it.
export function writeSettings(settings, prefix, parameters) {
  const write = (name, value, usual) => value !== usual && parameters.set(prefix + name, value);
  write("eps", String(settings.eps), String(DEFAULTS.eps));
  write("plus", settings.plus ? "1" : "0", "0");
  write("mapping", settings.mapping ?? "", "");
  write("calibration", settings.calibration, DEFAULTS.calibration);
  write("policy", settings.policy.name, DEFAULTS.policy.name);
  for (const part of PARTS) write(part, settings.policy[part] ?? "", "");
}

export function readSettings(parameters, prefix, choices) {
  const read = (name, allowed, usual) => {
    const value = parameters.get(prefix + name);
    return allowed.includes(value) ? value : usual;
  };
  const eps = Number(parameters.get(`${prefix}eps`) ?? DEFAULTS.eps);
  const policy = { name: read("policy", ["strict", "paper"], DEFAULTS.policy.name) };
  const parts = { unknown: ["mask", "keep", "random"], numbers: ["mask", "shape", "keep"], units: ["mask", "keep"] };
  for (const [part, allowed] of Object.entries({ ...parts, case: ["lower", "match"] })) {
    const value = read(part, allowed, null);
    if (value !== null) policy[part] = value;
  }
  return {
    mapping: read("mapping", choices.mappings, null),
    eps: eps === 0 || (eps >= 0.001 && eps <= 100) ? eps : DEFAULTS.eps,
    plus: parameters.get(`${prefix}plus`) === "1",
    calibration: read("calibration", ["paper", "tight"], DEFAULTS.calibration),
    policy,
  };
}
