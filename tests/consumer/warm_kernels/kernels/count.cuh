#pragma once

constexpr int count = COUNT;
constexpr char text[] = TEXT;
