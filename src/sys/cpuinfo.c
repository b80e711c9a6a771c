/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/cpuinfo.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "sys/text_split.h"

/* MIDR implementer and part, arch/arm64/include/asm/cputype.h and the vendors' manuals. */
static const struct arm_part {
	uint16_t implementer, part;
	const char *name;
} arm_parts[] = {
	{ 0x41, 0xc07, "Arm Cortex-A7" },
	{ 0x41, 0xc08, "Arm Cortex-A8" },
	{ 0x41, 0xc09, "Arm Cortex-A9" },
	{ 0x41, 0xc0f, "Arm Cortex-A15" },
	{ 0x41, 0xd03, "Arm Cortex-A53" },
	{ 0x41, 0xd04, "Arm Cortex-A35" },
	{ 0x41, 0xd05, "Arm Cortex-A55" },
	{ 0x41, 0xd07, "Arm Cortex-A57" },
	{ 0x41, 0xd08, "Arm Cortex-A72" },
	{ 0x41, 0xd09, "Arm Cortex-A73" },
	{ 0x41, 0xd0a, "Arm Cortex-A75" },
	{ 0x41, 0xd0b, "Arm Cortex-A76" },
	{ 0x41, 0xd0c, "Arm Neoverse-N1" },
	{ 0x41, 0xd0d, "Arm Cortex-A77" },
	{ 0x41, 0xd40, "Arm Neoverse-V1" },
	{ 0x41, 0xd41, "Arm Cortex-A78" },
	{ 0x41, 0xd44, "Arm Cortex-X1" },
	{ 0x41, 0xd46, "Arm Cortex-A510" },
	{ 0x41, 0xd47, "Arm Cortex-A710" },
	{ 0x41, 0xd48, "Arm Cortex-X2" },
	{ 0x41, 0xd49, "Arm Neoverse-N2" },
	{ 0x41, 0xd4a, "Arm Neoverse-E1" },
	{ 0x41, 0xd4d, "Arm Cortex-A715" },
	{ 0x41, 0xd4e, "Arm Cortex-X3" },
	{ 0x41, 0xd4f, "Arm Neoverse-V2" },
	{ 0x41, 0xd80, "Arm Cortex-A520" },
	{ 0x41, 0xd81, "Arm Cortex-A720" },
	{ 0x41, 0xd82, "Arm Cortex-X4" },
	{ 0x41, 0xd84, "Arm Neoverse-V3" },
	{ 0x41, 0xd85, "Arm Cortex-X925" },
	{ 0x41, 0xd87, "Arm Cortex-A725" },
	{ 0x41, 0xd8e, "Arm Neoverse-N3" },
	{ 0x42, 0x516, "Broadcom Vulcan" },
	{ 0x43, 0x0a1, "Cavium ThunderX" },
	{ 0x43, 0x0af, "Cavium ThunderX2" },
	{ 0x46, 0x001, "Fujitsu A64FX" },
	{ 0x48, 0xd01, "HiSilicon Kunpeng-920" },
	{ 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0x50, 0x000, "APM X-Gene" },
	{ 0x51, 0x001, "Qualcomm Oryon" },
	{ 0x51, 0x800, "Qualcomm Kryo 2xx gold" },
	{ 0x51, 0x801, "Qualcomm Kryo 2xx silver" },
	{ 0x51, 0xc00, "Qualcomm Falkor" },
	{ 0x61, 0x022, "Apple Icestorm (M1)" },
	{ 0x61, 0x023, "Apple Firestorm (M1)" },
	{ 0x61, 0x032, "Apple Blizzard (M2)" },
	{ 0x61, 0x033, "Apple Avalanche (M2)" },
	{ 0x6d, 0xd49, "Microsoft Cobalt 100" },
	{ 0xc0, 0xac3, "Ampere-1" },
	{ 0xc0, 0xac4, "Ampere-1A" },
};

static const struct {
	const char *word;
	unsigned bit;
} flag_words[] = {
	{ "hypervisor", WP_CPUINFO_HYPERVISOR },
	{ "tsc", WP_CPUINFO_TSC },
	{ "constant_tsc", WP_CPUINFO_CONSTANT_TSC },
	{ "nonstop_tsc", WP_CPUINFO_NONSTOP_TSC },
	{ "tsc_known_freq", WP_CPUINFO_TSC_KNOWN_FREQ },
	{ "rdtscp", WP_CPUINFO_RDTSCP },
	{ "aperfmperf", WP_CPUINFO_APERFMPERF },
	{ "pti", WP_CPUINFO_PTI },
	{ "hwp", WP_CPUINFO_HWP },
};

/* What was read of the processor entry that is not finished yet. */
struct entry {
	bool open;
	char model[96];    /* the model as text, when the entry has one */
	char fallback[96]; /* a weaker name: riscv's isa */
	bool has_arm_part;
	uint64_t implementer, part;
};

static void arm_name(const struct entry *e, char *out, size_t size)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(arm_parts); i++)
		if (arm_parts[i].implementer == e->implementer && arm_parts[i].part == e->part) {
			snprintf(out, size, "%s", arm_parts[i].name);
			return;
		}
	snprintf(out, size, "Arm implementer 0x%02x part 0x%03x",
		 (unsigned)(e->implementer & 0xffff), (unsigned)(e->part & 0xffff));
}

static void add_model(struct wp_cpuinfo *ci, const char *name)
{
	struct wp_cpuinfo_model *m;

	for (unsigned i = 0; i < ci->n_models; i++)
		if (!strcmp(ci->models[i].name, name)) {
			ci->models[i].cpus++;
			return;
		}
	if (ci->n_models == WP_CPUINFO_MODELS_MAX) {
		ci->unlisted_cpus++;
		return;
	}
	m = &ci->models[ci->n_models++];
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->cpus = 1;
}

/* "Core(TM)2 Quad CPU    Q6600": vendors pad with blanks. */
static void squeeze_blanks(char *s)
{
	char *to = s;

	for (const char *from = s; *from; from++)
		if (*from != ' ' || (to > s && to[-1] != ' '))
			*to++ = *from;
	*to = '\0';
}

/* Counts the entry and starts a new one. */
static void close_entry(struct wp_cpuinfo *ci, struct entry *e)
{
	if (e->open) {
		ci->cpus++;
		if (e->has_arm_part)
			arm_name(e, e->model, sizeof(e->model));
		if (!e->model[0])
			memcpy(e->model, e->fallback, sizeof(e->model));
		squeeze_blanks(e->model);
		if (e->model[0])
			add_model(ci, e->model);
	}
	*e = (struct entry) { 0 };
}

static void note_mhz(struct wp_cpuinfo *ci, struct wp_text value)
{
	char text[32];
	double mhz;

	if (wp_text_len(value) > 3 && !memcmp(value.end - 3, "MHz", 3))
		value = wp_text_trim((struct wp_text) { value.p, value.end - 3 });
	wp_text_copy(value, text, sizeof(text));
	if (wp_parse_double(text, &mhz) || mhz <= 0 || mhz > 1e6)
		return;
	if (mhz > ci->mhz_max)
		ci->mhz_max = mhz;
	if (ci->mhz_min <= 0 || mhz < ci->mhz_min)
		ci->mhz_min = mhz;
}

static void note_flags(struct wp_cpuinfo *ci, struct wp_text value)
{
	struct wp_text word;

	if (ci->has_flags)
		return;
	ci->has_flags = true;
	while (wp_text_word(&value, &word))
		for (size_t i = 0; i < WP_ARRAY_SIZE(flag_words); i++)
			if (wp_text_is(word, flag_words[i].word))
				ci->flags |= flag_words[i].bit;
}

/* "processor 0: version = FF, identification = 0133E8, machine = 3906" */
static void s390_processor(struct wp_cpuinfo *ci, struct entry *e, struct wp_text value)
{
	static const char key[] = "machine = ";
	const char *at = wp_text_find(value, key);
	char machine[16] = "";

	close_entry(ci, e);
	ci->form = WP_CPUINFO_S390;
	e->open = true;
	if (at) {
		struct wp_text rest = { at + sizeof(key) - 1, value.end }, word;

		if (wp_text_word(&rest, &word))
			wp_text_copy(word, machine, sizeof(machine));
	}
	snprintf(e->model, sizeof(e->model), "IBM Z machine type %s",
		 machine[0] ? machine : "unknown");
}

static void set_form(struct wp_cpuinfo *ci, enum wp_cpuinfo_form form)
{
	if (ci->form == WP_CPUINFO_UNKNOWN || ci->form == WP_CPUINFO_OTHER)
		ci->form = form;
}

/* Keys that exist once a processor entry, whichever the architecture. */
static void entry_key(struct wp_cpuinfo *ci, struct entry *e, struct wp_text key,
		      struct wp_text value)
{
	if (wp_text_is(key, "model name")) {
		wp_text_copy(value, e->model, sizeof(e->model));
	} else if (wp_text_is(key, "Model Name") || wp_text_is(key, "cpu model")) {
		wp_text_copy(value, e->model, sizeof(e->model));
		set_form(ci, WP_CPUINFO_OTHER);
	} else if (wp_text_is(key, "vendor_id")) {
		wp_text_copy(value, ci->vendor, sizeof(ci->vendor));
	} else if (wp_text_is(key, "cpu MHz") || wp_text_is(key, "CPU MHz") ||
		   wp_text_is(key, "clock") || wp_text_is(key, "cpu MHz dynamic")) {
		note_mhz(ci, value);
	} else if (wp_text_is(key, "flags")) {
		set_form(ci, WP_CPUINFO_X86);
		note_flags(ci, value);
	} else if (wp_text_is(key, "CPU implementer")) {
		set_form(ci, WP_CPUINFO_ARM);
		if (wp_text_number(value, &e->implementer))
			e->implementer = 0;
	} else if (wp_text_is(key, "CPU part")) {
		e->has_arm_part = !wp_text_number(value, &e->part);
	} else if (wp_text_is(key, "cpu") && e->open) {
		struct wp_text name = value, rest;

		wp_text_split(value, ',', &name, &rest);
		wp_text_copy(name, e->model, sizeof(e->model));
		set_form(ci, WP_CPUINFO_PPC);
	} else if (wp_text_is(key, "isa")) {
		wp_text_copy(value, e->fallback, sizeof(e->fallback));
		set_form(ci, WP_CPUINFO_RISCV);
	} else if (wp_text_is(key, "uarch")) {
		wp_text_copy(value, e->model, sizeof(e->model));
	}
}

int wp_cpuinfo_parse(const char *text, size_t len, struct wp_cpuinfo *ret)
{
	struct wp_text rest = wp_text(text, len), line, key, value;
	struct wp_cpuinfo ci = { 0 };
	struct entry e = { 0 };
	char headline[96] = ""; /* arm before 3.8 names the CPU once, above the entries */
	uint64_t number;

	if (len > WP_CPUINFO_BYTES_MAX)
		return -E2BIG;
	while (wp_text_line(&rest, &line)) {
		if (!wp_text_split(line, ':', &key, &value))
			continue;
		if (wp_text_is(key, "processor") && !wp_text_number(value, &number)) {
			close_entry(&ci, &e);
			e.open = true;
		} else if (wp_text_starts(key, "processor ")) {
			s390_processor(&ci, &e, value);
		} else if (wp_text_is(key, "Processor")) {
			wp_text_copy(value, headline, sizeof(headline));
			set_form(&ci, WP_CPUINFO_ARM);
		} else if (ci.form != WP_CPUINFO_S390 || wp_text_is(key, "vendor_id") ||
			   wp_text_is(key, "cpu MHz dynamic")) {
			entry_key(&ci, &e, key, value);
		}
	}
	close_entry(&ci, &e);
	if (!ci.cpus && headline[0])
		ci.cpus = 1;
	if (!ci.cpus)
		return -ENODATA;
	if (!ci.n_models && headline[0]) {
		add_model(&ci, headline);
		ci.models[0].cpus = ci.cpus;
	}
	*ret = ci;
	return 0;
}

const char *wp_cpuinfo_form_name(enum wp_cpuinfo_form form)
{
	static const char *const names[] = { "unknown", "x86",   "arm",  "ppc",
					     "s390",    "riscv", "other" };

	return (size_t)form < WP_ARRAY_SIZE(names) ? names[form] : "unknown";
}
