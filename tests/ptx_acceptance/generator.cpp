// Generates programs from the tables.
#include "address.hpp"
#include "architectures.hpp"
#include "expand.hpp"
#include "program.hpp"
#include "words.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

std::vector<std::string> segments(std::string_view text) {
    std::vector<std::string> all;
    for (;;) {
        const std::size_t at = text.find(" ;; ");
        all.emplace_back(text.substr(0, at));
        if (at == text.npos) return all;
        text.remove_prefix(at + 4);
    }
}

class Maker {
public:
    Maker(const std::vector<const Tables::Row*>& rows, const std::vector<std::string>& modifiers,
          std::uint64_t seed)
        : rows_(rows),
          modifiers_(modifiers),
          random_(digest(rows.front()->family, seed * 0x9E3779B97F4A7C15U + 1)) {
        for (const Tables::Row* row : rows)
            collect_modifiers(row->text, own_);
    }

    void run(std::size_t budget, std::unordered_set<std::uint64_t>& seen,
             std::vector<Program>& into) {
        std::size_t made = 0;
        for (std::size_t tries = 0; made < budget && tries < 12 * budget; ++tries) {
            Program program;
            if (!make(*rows_[tries % rows_.size()], program)) continue;
            if (!seen.insert(digest(program.text())).second) continue;
            into.push_back(std::move(program));
            ++made;
        }
    }

    /// The same with another address as one operand, and with nothing else changed.
    void run_addresses(std::size_t budget, std::unordered_set<std::uint64_t>& seen,
                       std::vector<Program>& into) {
        std::size_t made = 0;
        for (std::size_t tries = 0; made < budget && tries < 12 * budget; ++tries) {
            Program program;
            if (read(*rows_[tries % rows_.size()], program)) continue;
            if (!change_address(program)) continue;
            if (!seen.insert(digest(program.text())).second) continue;
            into.push_back(std::move(program));
            ++made;
        }
    }

    /// Rows newer than PTX 9.0 for every newer target, and for the version before theirs: the
    /// random programs of a family have too few targets to tell sm_107f from sm_107a.
    void run_targets(std::unordered_set<std::uint64_t>& seen, std::vector<Program>& into) {
        const auto add = [&](const Tables::Row& row, std::string_view target, int version) {
            Program program;
            read(row, program);
            program.kind = Kind::target;
            if (!target.empty()) program.target = target;
            program.version = version;
            if (seen.insert(digest(program.text())).second) into.push_back(std::move(program));
        };
        for (const Tables::Row* row : rows_) {
            if (row->version <= 90) continue;
            add(*row, {}, row->version - 1);
            for (const Architecture& target : architectures)
                if (target.version >= 78) add(*row, target.name, newest);
        }
    }

    /// Marked rows with every operand in turn as a register of every type, and as what is no
    /// register.
    void run_operands(std::unordered_set<std::uint64_t>& seen, std::vector<Program>& into) {
        for (const Tables::Row* row : rows_) {
            Program form;
            if (!row->every_operand || read(*row, form)) continue;
            const std::size_t count = split(form.instruction).operands.size();
            const auto add = [&](std::size_t at, const auto& change) {
                Program program;
                read(*row, program);
                program.kind = Kind::operand;
                Instruction made = split(program.instruction);
                if (at >= made.operands.size()) return;
                change(made.operands[at]);
                program.instruction = made.text();
                if (seen.insert(digest(program.text())).second) into.push_back(std::move(program));
            };
            for (std::size_t at = 0; at < count; ++at) {
                for (const std::string& type :
                     std::set(std::begin(words::types), std::end(words::types)))
                    add(at, [&](std::string& operand) { (void)change_register(operand, type); });
                for (const std::string& other : words::no_registers)
                    add(at, [&](std::string& operand) { operand = other; });
            }
        }
    }

    /// Directives with a token more at every place.
    void run_insertions(std::unordered_set<std::uint64_t>& seen, std::vector<Program>& into) {
        for (const Tables::Row* row : rows_) {
            Program form;
            if (!read(*row, form)) continue;
            for (std::string Program::*part :
                 {&Program::module, &Program::before, &Program::heading, &Program::instruction}) {
                for (const auto& [at, length] : tokens_of(form.*part)) {
                    for (const std::string& other : words::trailing) {
                        Program program = form;
                        program.kind = Kind::token;
                        (program.*part).insert(at + length, " " + other);
                        if (seen.insert(digest(program.text())).second)
                            into.push_back(std::move(program));
                    }
                }
            }
        }
    }

private:
    /// Returns whether the row is of directives.
    bool read(const Tables::Row& row, Program& program) {
        const std::string text = expand(row.text, random_);
        program.family = row.family;
        program.target = row.target;
        program.version = random_.one_in(3) ? row.version : newest;
        bool directives = false;
        for (const std::string& part : segments(text)) {
            const std::string_view rest =
                std::string_view(part).substr(std::min<std::size_t>(3, part.size()));
            if (part.starts_with("M: ")) {
                program.module = rest;
            } else if (part.starts_with("B: ")) {
                program.before = rest;
            } else if (part.starts_with("A: ")) {
                program.after = rest;
            } else if (part.starts_with("H: ")) {
                program.heading = " " + std::string(rest);
            } else if (part.starts_with("D: ")) {
                program.instruction = rest;
                directives = true;
            } else if (part.starts_with("W: ")) {
                program.module = rest;
                program.whole = true;
            } else {
                program.instruction = part;
            }
        }
        return directives || program.instruction.empty();
    }

    bool make(const Tables::Row& row, Program& program) {
        const bool directives = read(row, program);
        const std::size_t roll = random_.below(100);
        program.kind = roll < 42   ? Kind::form
                       : roll < 54 ? Kind::order
                       : roll < 70 ? Kind::modifier
                       : roll < 88 ? Kind::operand
                       : roll < 96 ? Kind::target
                                   : Kind::token;
        if (directives && program.kind != Kind::target)
            program.kind = roll < 54 ? Kind::form : Kind::token;
        switch (program.kind) {
            case Kind::form:
                if (!directives && random_.one_in(12))
                    program.instruction = random_.pick(words::guards) + program.instruction;
                return true;
            case Kind::order:
                return change_order(program);
            case Kind::modifier:
                return change_modifier(program);
            case Kind::operand:
                return change_operand(program);
            case Kind::target:
                return change_target(program);
            case Kind::token:
                return change_token(program);
            case Kind::address:
                break;  // By run_addresses().
        }
        return false;
    }

    // Mostly in the place of an address, and of the same variable or register.
    bool change_address(Program& program) {
        program.kind = Kind::address;
        Instruction made = split(program.instruction);
        std::vector<std::string*> places;
        for (std::string& operand : made.operands)
            if (operand.starts_with('[') && operand.find(',') == operand.npos)
                places.push_back(&operand);
        const bool is_address = !places.empty() && !random_.one_in(4);
        if (!is_address) {
            places.clear();
            for (std::string& operand : made.operands)
                places.push_back(&operand);
        }
        if (places.empty()) return false;
        std::string& place = *random_.pick(places);
        std::string base;
        if (is_address && random_.one_in(2)) {
            base = place.substr(1, place.find_first_of("+-]") - 1);
        } else if (random_.one_in(2)) {
            base = random_.pick(words::arrays);
        }
        place = random_address(random_, base);
        program.instruction = made.text();
        return true;
    }

    bool change_order(Program& program) {
        Instruction made = split(program.instruction);
        if (made.modifiers.size() < 2) return false;
        program.canonical = program.instruction;
        const std::vector<std::string> before = made.modifiers;
        if (random_.one_in(3)) {
            random_.shuffle(made.modifiers);
        } else {
            const std::size_t at = random_.below(made.modifiers.size() - 1);
            std::swap(made.modifiers[at], made.modifiers[at + 1]);
        }
        program.instruction = made.text();
        return made.modifiers != before;
    }

    bool change_modifier(Program& program) {
        Instruction made = split(program.instruction);
        auto& all = made.modifiers;
        const std::size_t count = all.size();
        const std::size_t at = random_.below(count);
        const std::string other =
            random_.pick(random_.one_in(3) || own_.empty() ? modifiers_ : own_);
        switch (random_.below(count == 0 ? 2 : 7)) {
            case 0:
            case 1:
                all.insert(all.begin() + static_cast<std::ptrdiff_t>(random_.below(count + 1)),
                           other);
                break;
            case 2:
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 3:
                all.insert(all.begin() + static_cast<std::ptrdiff_t>(random_.below(count + 1)),
                           all[at]);
                break;
            case 4:
            case 5:
                all[at] = other;
                break;
            default:
                if (random_.one_in(2)) {
                    all[at] += random_.pick(words::suffixes);
                } else if (all[at].size() > 1) {
                    all[at].pop_back();
                }
                break;
        }
        program.instruction = made.text();
        return true;
    }

    bool change_operand(Program& program) {
        Instruction made = split(program.instruction);
        auto& all = made.operands;
        const std::size_t count = all.size();
        if (count == 0) {
            all.push_back(random_.pick(words::strange));
            program.instruction = made.text();
            return true;
        }
        const std::size_t at = random_.below(count);
        switch (random_.below(8)) {
            case 0:
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 1:
                all.insert(all.begin() + static_cast<std::ptrdiff_t>(random_.below(count + 1)),
                           random_.one_in(2) ? all[at] : random_.pick(words::strange));
                break;
            case 2:
                if (count < 2) return false;
                std::swap(all[at], all[(at + 1) % count]);
                break;
            case 3:
            case 4:
                all[at] = random_.pick(words::strange);
                break;
            default:
                if (!change_register(all[at])) return false;
                break;
        }
        program.instruction = made.text();
        return true;
    }

    /// An empty `type` is a random one.
    bool change_register(std::string& operand, const std::string& type = {}) {
        const auto registers = registers_of(operand);
        if (registers.empty()) return false;
        const RegisterName& name = registers[random_.below(registers.size())];
        const std::string lanes = name.lanes == 1 ? "" : fmt::format(":{}", name.lanes);
        operand.replace(name.at, name.length,
                        fmt::format("%{}{}_{}", type.empty() ? random_.pick(words::types) : type,
                                    lanes, name.number));
        return true;
    }

    bool change_target(Program& program) {
        const Architecture& target = random_.pick(architectures);
        program.target = target.name;
        program.version = random_.one_in(2) ? target.version : random_.pick(versions);
        if (random_.one_in(2)) program.version = std::max(program.version, target.version);
        return true;
    }

    /// The place and length of each.
    static std::vector<std::pair<std::size_t, std::size_t>> tokens_of(const std::string& text) {
        std::vector<std::pair<std::size_t, std::size_t>> tokens;
        for (std::size_t k = 0; k < text.size();) {
            const auto is_word = [&](char c) {
                return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%';
            };
            std::size_t end = k + 1;
            if (is_word(text[k]) || text[k] == '.')
                while (end < text.size() && is_word(text[end]))
                    ++end;
            if (text[k] != ' ') tokens.emplace_back(k, end - k);
            k = end;
        }
        return tokens;
    }

    bool change_token(Program& program) {
        std::string& text = program.instruction.empty() ? program.module : program.instruction;
        const auto tokens = tokens_of(text);
        if (tokens.size() < 2) return false;
        const auto [at, length] = tokens[random_.below(tokens.size())];
        const auto [from, size] = tokens[random_.below(tokens.size())];
        const std::string other = text.substr(from, size);
        switch (random_.below(4)) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text.insert(at, other + " ");
                break;
            case 2:
                text.replace(at, length, other);
                break;
            default:
                text.replace(at, length, random_.pick(words::pieces));
                break;
        }
        return true;
    }

    const std::vector<const Tables::Row*>& rows_;
    const std::vector<std::string>& modifiers_;
    std::vector<std::string> own_;
    Random random_;
};

}  // namespace

std::vector<Program> Tables::programs(std::uint64_t seed) const {
    std::vector<std::string> modifiers;
    for (const Row& row : rows_)
        collect_modifiers(row.text, modifiers);
    std::vector<std::string> families;
    for (const Row& row : rows_)
        if (std::ranges::find(families, row.family) == families.end())
            families.push_back(row.family);
    std::vector<Program> all;
    std::unordered_set<std::uint64_t> seen;
    for (const std::string& family : families) {
        std::vector<const Row*> rows;
        for (const Row& row : rows_)
            if (row.family == family) rows.push_back(&row);
        Maker maker(rows, modifiers, seed);
        maker.run(60 + 20 * rows.size(), seen, all);
        maker.run_addresses(10 + 4 * rows.size(), seen, all);
        maker.run_targets(seen, all);
        maker.run_operands(seen, all);
        maker.run_insertions(seen, all);
    }
    return all;
}

}  // namespace lode::ptx_acceptance
