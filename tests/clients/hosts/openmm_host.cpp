// A program that uses OpenMM: a liquid of small chain molecules with bonds, angles, torsions and
// non-bonded forces, whose energy and forces on the platform CUDA are compared with those on the
// platform Reference, and a few steps. It uses OpenMM's public interface alone.
//
//     openmm_host libOpenMMCUDA.so [PRECISION]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <OpenMM.h>

using namespace OpenMM;

namespace {

constexpr int molecules = 27;
constexpr int atoms = 4;  // In each molecule.

void fill(System& system, std::vector<Vec3>& positions) {
    const double edge = 0.9 * std::cbrt(molecules);
    system.setDefaultPeriodicBoxVectors(Vec3(edge, 0, 0), Vec3(0, edge, 0), Vec3(0, 0, edge));
    auto* bonds = new HarmonicBondForce();
    auto* angles = new HarmonicAngleForce();
    auto* torsions = new PeriodicTorsionForce();
    auto* pairs = new NonbondedForce();
    pairs->setNonbondedMethod(NonbondedForce::CutoffPeriodic);
    pairs->setCutoffDistance(1.0);
    for (int molecule = 0; molecule < molecules; ++molecule) {
        const int first = molecule * atoms;
        const Vec3 corner(0.9 * (molecule % 3), 0.9 * (molecule / 3 % 3), 0.9 * (molecule / 9));
        for (int i = 0; i < atoms; ++i) {
            system.addParticle(12.0);
            pairs->addParticle(i % 2 == 0 ? 0.25 : -0.25, 0.3, 0.4);
            positions.push_back(corner + Vec3(0.14 * i, 0.05 * (i % 2), 0.03 * (i / 2)));
            if (i >= 1) bonds->addBond(first + i - 1, first + i, 0.15, 250000);
            if (i >= 2) angles->addAngle(first + i - 2, first + i - 1, first + i, 1.9, 500);
        }
        torsions->addTorsion(first, first + 1, first + 2, first + 3, 3, 0, 5);
    }
    std::vector<std::pair<int, int>> bonded;
    for (int molecule = 0; molecule < molecules; ++molecule)
        for (int i = 1; i < atoms; ++i)
            bonded.emplace_back(molecule * atoms + i - 1, molecule * atoms + i);
    pairs->createExceptionsFromBonds(bonded, 0.8, 0.5);
    for (Force* force : {static_cast<Force*>(bonds), static_cast<Force*>(angles),
                         static_cast<Force*>(torsions), static_cast<Force*>(pairs)})
        system.addForce(force);
}

State state_of(Platform& platform, const System& system, const std::vector<Vec3>& positions,
               int steps) {
    LangevinMiddleIntegrator integrator(300, 1, 0.001);
    integrator.setRandomNumberSeed(7);
    Context context(system, integrator, platform);
    context.setPositions(positions);
    if (steps > 0) {
        context.setVelocitiesToTemperature(300, 5);
        integrator.step(steps);
    }
    return context.getState(State::Energy | State::Forces | State::Positions);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) return 2;
    Platform::loadPluginLibrary(argv[1]);
    Platform& cuda = Platform::getPlatform("CUDA");
    if (argc > 2) cuda.setPropertyDefaultValue("Precision", argv[2]);
    Platform& reference = Platform::getPlatform("Reference");
    System system;
    std::vector<Vec3> positions;
    fill(system, positions);
    const State given = state_of(cuda, system, positions, 0);
    const State wanted = state_of(reference, system, positions, 0);
    double difference = 0;
    double largest = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const Vec3 error = given.getForces()[i] - wanted.getForces()[i];
        difference = std::max(difference, std::sqrt(error.dot(error)));
        largest = std::max(largest, std::sqrt(wanted.getForces()[i].dot(wanted.getForces()[i])));
    }
    const double energy = given.getPotentialEnergy();
    const double energy_error = std::abs(energy - wanted.getPotentialEnergy());
    std::printf("energy %.4f, error %.1e; forces, error %.1e of %.0f\n", energy, energy_error,
                difference, largest);
    const State later = state_of(cuda, system, positions, 20);
    std::printf("energy after 20 steps %.4f\n", later.getPotentialEnergy());
    const bool is_right = energy_error <= 1e-4 * std::abs(energy) && difference <= 1e-4 * largest &&
                          std::isfinite(later.getPotentialEnergy());
    std::printf("%s\n", is_right ? "right" : "WRONG");
    return is_right ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
